# Answered, and never recorded. Allows three attempts, a delay of at most 200 ms before a retry, and
# a second for an answer. The token was answered, but has no end in the database when the run is
# over.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
line at 150: 0 sent 160
row 0 open
=> lost 1, says "read at 0.150 s, answered at 0.160 s"
