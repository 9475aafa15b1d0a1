# No mark, and says so. The last line was read 20 ms before TERM. The timeout is not promised, so
# the line is not late.
set collector.dequeue=shared
set collector.promises=[no_loss, once, limit, order, reconnect, sharing, small, waits_for_writers, dead_letters]
process 0 exit 75
token 0 at 50
line at 150: 0
token 1 at 3900
line at 9980: 1
row 1 unmarked
=> verdict pass
