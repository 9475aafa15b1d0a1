# Failed, and forgotten. Allows three attempts, a delay of at most 200 ms before a retry, and a
# second for an answer. The token waits in the database for its retry, and nobody tries it again.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
line at 150: 0 transient 160
row 0 unmarked
=> never_retried 1
