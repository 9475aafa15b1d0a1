# Keeps what it had without a lease. Two share the work by row locks, and promise no lease. One is
# paused for three seconds with a token in hand, which nobody else can take. It writes the token
# when it goes on.
set collector.instances=2
set collector.dequeue=shared
set collector.env.MAILROOM_LEASE=1000
set collector.promises=[no_loss, once, limit, timeout, reconnect, backpressure, stop, dead_letters, sharing]
set recovery_limit=5s
session at -990
token 0 at 50
line by 0 at 150: 0
token 1 at 950
fault {do: pause-collector, instance: 1} struck 1000 undone 4000
repeat 9 every 300: token 2 at 1200
repeat 9 every 300: line by 0 at 1301: 2
line by 1 at 4010: 1
=> verdict pass
