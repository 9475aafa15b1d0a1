# Vanished.
token 0 at 50
line at 150: 0
token 1 at 200
row 1 gone
=> vanished 1
