# What the budget allows, read late. Fifteen tokens wait. Three of them come at once, and then one
# each 100 ms. That is all that a budget of 10 a second allows, and a quarter of a budget of 40. The
# last five of the fifteen are written while nobody reads.
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=3
session at -990
token 0-14 at 50
line at 60: 0-2
repeat 7 every 100: line at 165: 3
fault {do: pause-reader} struck 850 undone 2500
repeat 5: line at 2501: 10
=> verdict pass
