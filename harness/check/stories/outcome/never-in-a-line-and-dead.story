# Never in a line, and dead. Allows three attempts, a delay of at most 200 ms before a retry, and a
# second for an answer. The database holds an answer to a token that was in no line.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
row 0 unmarked
attempt 0 dead
=> lost 1, misrecorded 1
