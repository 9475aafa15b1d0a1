# Outlives its sender. The sender dies of the attempt at 400 ms, but the collector goes on. A second
# later it counts as back, and a second after that it must write again. So the token that comes then
# is late.
set collector.dequeue=leased
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
set collector.sender.dies=0.01
process 0
session at -900
token 0 at 50
line at 150: 0 died 400
token 1 at 2450
line at 1500: 0 sent 1600
line at 2900: 1 sent 2950
=> late 1
