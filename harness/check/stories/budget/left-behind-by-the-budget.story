# Left behind by the budget, of ten tokens a second.
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=3
repeat 100 every 100: flush at 10 took 1
token 0-2 at 50
line at 55: 0-2
repeat 24 every 20: token 3 at 50
repeat 24 every 100: line at 151: 3
=> verdict pass
