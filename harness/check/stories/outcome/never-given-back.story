# Never given back. Allows three attempts, a delay of at most 200 ms before a retry, and a second
# for an answer. The collector lives on long after its sender died, and never gives the token back.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
set collector.sender.dies=0.01
session at -900
token 0 at 50
line at 150: 0 died 200
=> never_retried 1
