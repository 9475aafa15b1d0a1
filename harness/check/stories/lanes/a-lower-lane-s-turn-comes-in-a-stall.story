# A lower lane's turn comes in a stall. Recoveries go first, and activations age after a tenth of a
# second. Lines have one token, and one of them is in flight. 26 recoveries follow each other every
# 40 ms, and eight more are read together at 1400 ms. Then comes an activation that counts as aged
# from 1151 ms on.
set collector.batch_limit=1
set collector.env.MAILROOM_LANES=password_recovery,activation
set collector.env.MAILROOM_AGEING=100
set collector.env.MAILROOM_IN_FLIGHT=1
token 0 at 50
token 1-34 recovery at 52
repeat 26 every 40: line at 120: 1
repeat 8: line at 1400: 27
line at 1410: 0
stall from 1110 until 1400
=> verdict pass
