# Retried at once. Allows three attempts, a delay of at most 200 ms before a retry, and a second for
# an answer. 51 retries, each a millisecond after its error; full jitter would be 100 ms.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
repeat 17 every 100: token 0-2 at 50
repeat 17 every 100: line at 60: 0-2 transient 70
repeat 17 every 100: line at 71: 0-2 sent 81
=> early_retry 51
