# Cursor behind for long, and says so. The collector says that its line is unconfirmed, though it
# had the time to confirm it.
process 0 exit 75
token 0 at 50
line at 150: 0
row 0 waiting
=> end_state 1
