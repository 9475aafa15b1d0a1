# Answered in time, and tried again. Allows three attempts, a delay of at most 200 ms before a
# retry, and a second for an answer. The line lay unread until 1050 ms, and is answered 70 ms later.
# The collector had given it up a second after it had written it, and tries the token again. The
# reader was paused for half a second, so the answer came in time.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
session at -990
token 0 at 30
fault {do: pause-reader} struck 550 undone 1050
line at 1051: 0 sent 1121
line at 1200: 0 sent 1210
attempt 0 transient
attempt 0 number 1 late
attempt 0 sent
=> late 1, resurrected 1, misrecorded 1
