# A full batch behind an answer that no longer counts. One line may be without an answer, and after
# 500 ms without one it counts as failed. The sender answers much later.
set collector.dequeue=leased
set collector.batch_timeout=1s
set collector.env.MAILROOM_IN_FLIGHT=1
set collector.env.MAILROOM_ANSWER_TIMEOUT=500
token 0 at 50
line at 1051: 0 sent 2400
repeat 3 every 20: token 1 at 1500
line at 2410: 1-3 sent 2420
=> late some
