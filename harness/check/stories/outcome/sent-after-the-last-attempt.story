# Failed as often as is allowed, and tried once more, with success. Allows three attempts, a delay of
# at most 200 ms before a retry, and a second for an answer.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
token 0 at 50
repeat 3 every 150 step 0: line at 150: 0 transient 160
line at 600: 0 sent 610
row 0 sent
=> over_attempts 1
