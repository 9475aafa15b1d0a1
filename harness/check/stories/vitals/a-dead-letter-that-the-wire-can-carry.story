# A dead letter that the wire can carry.
token 0 at 50
line at 150: 0
row 0 buried
=> end_state 1
