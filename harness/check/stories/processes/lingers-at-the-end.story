# Lingers at the end.
process 0 until 11110 exit 0 asked
token 0 at 50
line at 150: 0
=> unplanned_exit 1
