# Interrupted, and lost before.
run interrupted
token 0 at 50
line at 150: 0
token 1-2 at 200
=> lost 2
