# Changed and passed.
token 0 at 50
line at 150: 0
token 1 at 200
change 1 suspend at 210
=> verdict pass
