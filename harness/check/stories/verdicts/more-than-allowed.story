# More than allowed.
set allow.lost=1
token 0 at 50
line at 150: 0
token 1-2 at 200
=> lost 2
