# Drained job by job, and silent at the end. A queue of jobs promises neither a limit nor a time.
# One job a line came for a while.
set collector.promises=[no_loss, once, order, reconnect, sharing, small, waits_for_writers, dead_letters]
token 0 at 50
line at 150: 0
token 1-2 at 200
token 3-22 at 300
repeat 20 every 300: line at 2800: 3
=> lost 2
