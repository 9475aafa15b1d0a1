# Cursor behind, and crashed.
process 0 signal 6
token 0 at 50
line at 150: 0
row 0 waiting
=> unplanned_exit 1
