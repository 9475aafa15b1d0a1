# Failed, and recorded as given back. Allows three attempts, a delay of at most 200 ms before a
# retry, and a second for an answer. The sender answered that the attempt failed, but the database
# has it as given back.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
line at 150: 0 transient 160
line at 300: 0 silent
line at 1500: 0 sent 1510
attempt 0 returned
attempt 0 transient
attempt 0 sent
=> misrecorded 1
