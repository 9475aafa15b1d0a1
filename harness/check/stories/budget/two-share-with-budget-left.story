# Two share, with budget left. Fifteen tokens wait. Three of them come at once, and then one each
# 100 ms. That is all that a budget of 10 a second allows, and a quarter of a budget of 40.
set collector.dequeue=shared
set collector.instances=2
set collector.env.MAILROOM_BUDGET=40/s
set collector.env.MAILROOM_BURST=3
token 0-14 at 50
line by 1 at 60: 0-2
repeat 6 every 200 step 2: line by 0 at 165: 3
repeat 6 every 200 step 2: line by 1 at 265: 4
=> late 11
