# No dead letter, and none promised.
set collector.layout=foreign
set collector.promises=[no_loss, once, limit, timeout, order, reconnect, sharing, small, waits_for_writers]
token 0 at 50
line at 150: 0
token 1 short-secret at 200
row 1 unburied
=> verdict pass
