# A dead letter that the cursor has not passed.
token 0 at 50
line at 150: 0
token 1 short-secret at 200
row 1 waiting
=> end_state 1
