# One of two gets nothing of the budget. 60 tokens come at once, and the second collector delivers
# one each 100 ms. The first has written one line, or three. The second one takes every token that
# the budget allows.
set collector.dequeue=shared
set collector.instances=2
set collector.batch_limit=1
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=3
set collector.capacity=10/s
token 0-59 at 50
line by 0 at 60: 0 sent 5060
repeat 59 every 100: line by 1 at 160: 1 sent 161
=> verdict pass
