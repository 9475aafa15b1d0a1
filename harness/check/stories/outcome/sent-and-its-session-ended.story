# Sent, and its session ended. Allows three attempts, a delay of at most 200 ms before a retry, and
# a second for an answer. The answer that the token was sent got through, and yet the token comes
# again. The session ended just after the answer, which may be unrecorded.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
session at -990
token 0 at 50
line at 150: 0 sent 160
fault {do: terminate-backend} struck 161 undone 162
session at 200
line at 400: 0 sent 410
=> verdict pass
