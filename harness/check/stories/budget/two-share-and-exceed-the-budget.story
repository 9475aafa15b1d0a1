# Two share, and exceed the budget. Two full lines 50 ms apart, with a budget of 3 at once and one a
# second.
set collector.dequeue=shared
set collector.instances=2
set collector.env.MAILROOM_BUDGET=1/s
set collector.env.MAILROOM_BURST=3
token 0-2 at 50
line by 1 at 60: 0-2
token 3-5 at 100
line by 0 at 110: 3-5
=> over_budget 1
