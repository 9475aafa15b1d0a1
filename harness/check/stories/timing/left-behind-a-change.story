# Left behind a change. The account of a token was suspended while the line was taken.
repeat 100 every 100: flush at 10 took 1
token 0 at 50
line at 151: 0
token 1 at 1000
token 2 at 1002
change 2 suspend at 1010 ack 1011 back 1105 back-ack 1106
line at 1103: 1
line at 1212: 2
=> verdict pass
