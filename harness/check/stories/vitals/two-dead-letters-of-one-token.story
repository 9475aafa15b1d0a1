# Two dead letters of one token.
token 0 at 50
line at 150: 0
token 1 short-secret at 200
row 1 buried-twice
=> end_state 1
