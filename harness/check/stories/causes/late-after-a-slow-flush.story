# Late after a slow flush.
token 0 at 50
line at 150: 0
token 1 at 200
line at 551: 1
flush at -500 took 150
=> late 1
