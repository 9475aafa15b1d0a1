# Late, and not promised.
set collector.promises=[no_loss, once, limit, order, reconnect, sharing, small, waits_for_writers, dead_letters]
token 0 at 50
line at 150: 0
token 1 at 200
line at 360: 1
=> verdict pass
