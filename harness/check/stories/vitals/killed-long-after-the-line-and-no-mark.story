# Killed long after the line, and no mark.
set collector.dequeue=shared
process 0 until 600 killed
process 1 from 700
token 0 at 50
line at 150: 0
fault {do: kill-collector} struck 600
token 1-3 at 2995
line at 3000: 1-3
row 0 unmarked
=> end_state 1
