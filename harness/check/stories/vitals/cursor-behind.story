# Cursor behind.
token 0 at 50
line at 150: 0
row 0 waiting
=> end_state 1
