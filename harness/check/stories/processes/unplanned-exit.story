# Unplanned exit.
process 0 until 1000 exit 1
process 1 from 1100
token 0 at 50
line at 150: 0
=> unplanned_exit 1
