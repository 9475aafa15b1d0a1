# Lanes in turn, a stall too late. Recoveries go first, and activations age after a tenth of a
# second. Lines have one token, and one of them is in flight. Five activations and a recovery that
# was acknowledged after them are read together. The reader had stood still before. The stall began
# when the recovery had waited for 60 ms.
set collector.batch_limit=1
set collector.env.MAILROOM_LANES=password_recovery,activation
set collector.env.MAILROOM_AGEING=100
set collector.env.MAILROOM_IN_FLIGHT=1
set slack=100ms
token 0-4 at 50
token 5 recovery at 150
repeat 6: line at 280: 0
stall from 210 until 280
=> starved 1
