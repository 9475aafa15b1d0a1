# Early.
token 0 at 50
line at 150: 0
token 1 at 200
line at 250: 1
=> early 1
