# Writes long after its return, without a lease. The paused one goes on after a second, and needs
# two more for the token that it has.
set collector.instances=2
set collector.dequeue=shared
set collector.promises=[no_loss, once, limit, timeout, reconnect, backpressure, stop, dead_letters, sharing]
set recovery_limit=5s
session at -990
token 0 at 50
line by 0 at 150: 0
token 1 at 950
fault {do: pause-collector, instance: 1} struck 1000 undone 2000
repeat 9 every 300: token 2 at 1200
repeat 9 every 300: line by 0 at 1301: 2
line by 1 at 4010: 1
=> late 1
