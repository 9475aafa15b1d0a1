# The sender died of it. Allows three attempts, a delay of at most 200 ms before a retry, and a
# second for an answer. The sender dies of the attempt at 400 ms, without an answer. The collector
# ends 50 ms later. A token that came meanwhile waits for the next collector.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
set collector.sender.dies=0.01
process 0 until 450 exit 74 asked
process 1 from 550
session at -900
token 0 at 50
line at 150: 0 died 400
token 1 at 420
session at 800
line at 810: 0 sent 820
line at 820: 1 sent 830
=> verdict pass
