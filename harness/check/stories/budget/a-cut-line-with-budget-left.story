# A cut line, with budget left. A full line leaves one token of a burst of four, or most of a burst
# of forty. The next batch is full as well, but its line is cut after one token, and the others
# wait.
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=40
token 0 at 10
line at 120: 0
token 1-3 at 1500
line at 1505: 1-3
token 4-6 at 1520
line at 1525: 4
line at 1620: 5-6
=> early 1
