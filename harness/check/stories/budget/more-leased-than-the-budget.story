# More leased than the budget. Two full lines 50 ms apart, with a budget of 3 at once and one a
# second.
set collector.dequeue=leased
set collector.env.MAILROOM_BUDGET=1/s
set collector.env.MAILROOM_BURST=3
token 0-2 at 50
line at 60: 0-2 sent 61
token 3-5 at 100
line at 110: 3-5 sent 111
=> over_budget 1
