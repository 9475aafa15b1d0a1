# More than two readers that were away at once explain. Two share a budget of ten tokens a second.
# In the same second they could write ten tokens that nobody read, and have ten in hand, and three
# may come at once at any time. Thirty come.
set collector.dequeue=shared
set collector.instances=2
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=3
token 0 at 100
line by 0 at 201: 0
fault {do: pause-reader, instance: 0} struck 250 undone 1250
fault {do: pause-reader, instance: 1} struck 250 undone 1250
repeat 10: token 1-3 at 3850
repeat 10: line by 0 at 3951: 1-3
=> over_budget some
