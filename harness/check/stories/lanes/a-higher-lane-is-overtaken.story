# A higher lane is overtaken. Recoveries go first, and activations age after a tenth of a second.
# Lines have one token, and one of them is in flight. The recovery waits from 60 ms on, and three
# activations that have not aged go before it.
set collector.dequeue=leased
set collector.batch_limit=1
set collector.env.MAILROOM_LANES=password_recovery,activation
set collector.env.MAILROOM_AGEING=100
set collector.env.MAILROOM_IN_FLIGHT=1
token 0-2 at 50
token 3 recovery at 60
repeat 4 every 10: line at 120: 0 sent 130
=> starved 1
