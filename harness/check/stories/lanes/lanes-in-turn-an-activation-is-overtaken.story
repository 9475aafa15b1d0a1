# Lanes in turn, an activation is overtaken. Recoveries go first, and activations age after a tenth
# of a second. Lines have one token, and one of them is in flight. The second token comes before the
# first, of the same lane or of another.
set collector.batch_limit=1
set collector.env.MAILROOM_LANES=password_recovery,activation
set collector.env.MAILROOM_AGEING=100
set collector.env.MAILROOM_IN_FLIGHT=1
token 0 at 50
token 1 at 60
line at 64: 1
line at 66: 0
=> out_of_order 1
