# A dead letter without a mark.
set collector.dequeue=shared
token 0 at 50
line at 150: 0
token 1 short-secret at 200
row 1 unmarked
=> end_state 1
