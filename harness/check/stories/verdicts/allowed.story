# Allowed.
set allow.lost=2
token 0 at 50
line at 150: 0
token 1-2 at 200
=> verdict pass
