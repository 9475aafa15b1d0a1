# The rest behind a full line with a retry. Allows three attempts, a delay of at most 200 ms before
# a retry, and a second for an answer. The retry opens the window at 300 ms and goes out in the full
# line. Two tokens stay behind it.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
line at 150: 0 transient 160
token 1-4 at 370
line at 375: 0-2 sent 385
line at 400: 3-4 sent 410
=> verdict pass
