# Later than a slow flush explains.
token 0 at 50
line at 150: 0
token 1 at 200
line at 1251: 1
flush at 210 took 150
=> late 1
