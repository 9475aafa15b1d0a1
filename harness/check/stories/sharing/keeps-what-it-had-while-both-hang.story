# Keeps what it had while both hang. They promise a lease, and both are paused. When that of the
# first is over, nobody can take it.
set collector.instances=2
set collector.dequeue=shared
set collector.env.MAILROOM_LEASE=1000
set recovery_limit=5s
session at -990
token 0 at 50
line by 0 at 150: 0
token 1 at 950
fault {do: pause-collector, instance: 1} struck 1000 undone 4000
fault {do: pause-collector, instance: 0} struck 1500 undone 4100
line by 1 at 4010: 1
=> verdict pass
