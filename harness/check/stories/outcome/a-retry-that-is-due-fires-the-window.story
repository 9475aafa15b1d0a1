# A retry that is due fires the window. Allows three attempts, a delay of at most 200 ms before a
# retry, and a second for an answer. A line comes before the timeout of 100 ms, namely 50 ms after
# the first announcement in it. A retry that was due makes that right.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
line at 160: 0 transient 170
token 1 at 400
line at 450: 1 sent 451 0 sent 451
=> verdict pass
