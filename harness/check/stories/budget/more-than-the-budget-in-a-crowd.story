# More than the budget in a crowd. Two full lines 50 ms apart, with a budget of 3 at once and one a
# second. Other programs may have held lines back, which then come together.
set collector.env.MAILROOM_BUDGET=1/s
set collector.env.MAILROOM_BURST=3
set slack=auto
run others 90%
token 0-2 at 50
line at 60: 0-2
token 3-5 at 100
line at 110: 3-5
=> verdict inconclusive
