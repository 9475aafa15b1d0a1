# What the budget allows. Fifteen tokens wait. Three of them come at once, and then one each 100 ms.
# That is all that a budget of 10 a second allows, and a quarter of a budget of 40.
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=3
token 0-14 at 50
line at 60: 0-2
repeat 12 every 100: line at 165: 3
=> verdict pass
