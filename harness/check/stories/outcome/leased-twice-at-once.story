# Leased twice at once. Allows three attempts, a delay of at most 200 ms before a retry, and a
# second for an answer. The second attempt begins before the first was answered.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
line at 150: 0 sent 400
line at 200: 0 sent 210
=> double_leased 1
