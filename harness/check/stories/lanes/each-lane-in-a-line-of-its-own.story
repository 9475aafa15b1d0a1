# Each lane in a line of its own. The timer of a recovery fires. The collector writes the recovery,
# and then the activation that waits beside it. A token of any lane starts the timer for all.
set collector.dequeue=shared
set collector.env.MAILROOM_LANES=password_recovery,activation
token 0 recovery at 50
line at 150: 0
token 1 recovery at 1000
token 2 at 1080
line at 1101: 1
line at 1103: 2
=> verdict pass
