# Two lanes of less than a batch. Four tokens wait, and three fill a line. A collector whose lines
# hold one lane has no full batch, and waits for the timeout.
set collector.batch_timeout=1s
set collector.dequeue=shared
set collector.env.MAILROOM_LANES=password_recovery,activation
token 0 at 50
line at 1051: 0
repeat 2 every 10: token 1 recovery at 1500
repeat 2 every 10: token 3 at 1530
line at 2501: 1-2
line at 2503: 3-4
=> verdict pass
