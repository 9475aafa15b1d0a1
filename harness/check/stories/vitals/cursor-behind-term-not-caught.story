# Cursor behind, TERM not caught.
process 0 signal 15
token 0 at 50
line at 150: 0
row 0 waiting
=> end_state 1
