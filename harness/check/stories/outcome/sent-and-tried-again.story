# Sent, and tried again. Allows three attempts, a delay of at most 200 ms before a retry, and a
# second for an answer. The answer that the token was sent got through, and yet the token comes
# again.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
line at 150: 0 sent 160
line at 400: 0 sent 410
=> resurrected 1
