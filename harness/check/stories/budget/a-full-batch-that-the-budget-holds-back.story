# A full batch that the budget holds back. The budget is one token a second.
set collector.batch_timeout=1s
set collector.env.MAILROOM_BUDGET=1/s
set collector.env.MAILROOM_BURST=3
token 0 at 50
line at 1051: 0
repeat 3 every 20: token 1 at 1500
line at 2502: 1-3
=> verdict pass
