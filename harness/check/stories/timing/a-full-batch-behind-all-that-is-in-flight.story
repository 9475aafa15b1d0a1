# A full batch behind all that is in flight. One line may be without an answer, and the sender takes
# more than a second for it.
set collector.dequeue=leased
set collector.batch_timeout=1s
set collector.env.MAILROOM_IN_FLIGHT=1
token 0 at 50
line at 1051: 0 sent 2400
repeat 3 every 20: token 1 at 1500
line at 2410: 1-3 sent 2420
=> verdict pass
