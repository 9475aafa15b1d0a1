# Died before the answer was recorded. Allows three attempts, a delay of at most 200 ms before a
# retry, and a second for an answer. The collector died with an answer that it had not recorded.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
process 0 until 170 killed
process 1 from 270
token 0 at 50
line at 150: 0 sent 160
fault {do: kill-collector} struck 169 undone 170
line at 700: 0 sent 710
=> verdict pass
