# Fails at the run's end.
process 0 exit 1
token 0 at 50
line at 150: 0
=> unplanned_exit 1
