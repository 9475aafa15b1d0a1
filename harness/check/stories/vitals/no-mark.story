# No mark.
set collector.dequeue=shared
token 0 at 50
line at 150: 0
row 0 unmarked
=> end_state 1
