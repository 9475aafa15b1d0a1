# A budget that was spent until the end. Two tokens come every fifth of a second. That is all that a
# budget of 10 a second allows, and a quarter of a budget of 40.
set collector.env.MAILROOM_BUDGET=10/s
token 0 at 50
line at 150: 0
token 1-2 at 200
repeat 14 every 200: token 3-4 at 7000
repeat 14 every 200: line at 7120: 3-4
=> verdict inconclusive
