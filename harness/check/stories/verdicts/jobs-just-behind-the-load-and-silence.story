# Jobs just behind the load, and silence. A queue of jobs promises neither a limit nor a time. One
# job a line came for a while. The slack is longer than the time since the load, which ended at 4 s.
set collector.promises=[no_loss, once, order, reconnect, sharing, small, waits_for_writers, dead_letters]
set slack=9s
token 0 at 50
line at 150: 0
token 1-2 at 200
token 3-22 at 300
repeat 20 every 300: line at 800: 3
=> lost 2
