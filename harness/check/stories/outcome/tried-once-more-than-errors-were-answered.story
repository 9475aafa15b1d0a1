# Tried once more than errors were answered. Allows three attempts, a delay of at most 200 ms before
# a retry, and a second for an answer. The collector dies before the first error is answered. Then
# three errors are answered.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
process 0 until 155 killed
process 1 from 255
session at -990
token 0 at 50
line at 150: 0 transient never
fault {do: kill-collector} struck 154 undone 155
session at 300
repeat 3 every 250 step 0: line at 900: 0 transient 910
row 0 dead
attempt 0 lost
attempt 0 transient
attempt 0 transient
attempt 0 dead
=> verdict pass
