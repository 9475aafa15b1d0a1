# Lingers behind its shell. The shell dies of TERM, and the collector that it started goes on for a
# while.
process 0 until 11110 signal 15
token 0 at 50
line at 150: 0
=> unplanned_exit 1
