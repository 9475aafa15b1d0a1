# Lanes in turn, two lines taken before. Recoveries go first, and activations age after a tenth of a
# second. Lines have one token, and one of them is in flight. In cursor mode lines go out one by
# one. Each activation comes 60 ms after the recovery was acknowledged, or later. When the recovery
# was acknowledged, one of the two activations was in hand. The other was taken meanwhile.
set collector.batch_limit=1
set collector.env.MAILROOM_LANES=password_recovery,activation
set collector.env.MAILROOM_AGEING=100
set collector.env.MAILROOM_IN_FLIGHT=1
token 0-1 at 50
token 2 recovery at 60
line at 121: 0
line at 131: 1
line at 160: 2
=> verdict pass
