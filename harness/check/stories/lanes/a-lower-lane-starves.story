# A lower lane starves. Recoveries go first, and activations age after a tenth of a second. Lines
# have one token, and one of them is in flight. 37 recoveries and five activations, which all follow
# at the end.
set collector.dequeue=leased
set collector.batch_limit=1
set collector.env.MAILROOM_LANES=password_recovery,activation
set collector.env.MAILROOM_AGEING=100
set collector.env.MAILROOM_IN_FLIGHT=1
token 0-36 recovery at 50
token 37-41 at 55
repeat 42 every 40: line at 100: 0 sent 110
=> starved 1
