# No retry in a line that fires early. A line comes before the timeout of 100 ms, namely 50 ms after
# the first announcement in it, and no retry in it was due.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
line at 160: 0 transient 170
token 1 at 400
line at 450: 1 sent 451
line at 600: 0 sent 610
=> early 1
