# Answered in time, though the pipe was long empty. As in the story beside it, but nothing had come
# since the reader last found the pipe empty, half a second before it was paused. Until then it would
# have read the line at once, so the collector wrote it in the pause and gave it up too early.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
session at -990
token 0 at 30
fault {do: pause-reader} struck 550 undone 1050
line at 1051 empty 35: 0 sent 1121
line at 1200: 0 sent 1210
attempt 0 transient
attempt 0 number 1 late
attempt 0 sent
=> late 1, resurrected 1, misrecorded 1
