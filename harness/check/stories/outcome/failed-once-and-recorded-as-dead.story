# Failed once, and recorded as dead. Allows three attempts, a delay of at most 200 ms before a
# retry, and a second for an answer.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
line at 150: 0 transient 160
row 0 dead
=> misrecorded 1
