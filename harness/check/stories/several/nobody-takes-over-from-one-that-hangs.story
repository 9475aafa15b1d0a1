# Nobody takes over from one that hangs. The holder hangs for 3 s. The other may take its turn after
# the lease.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 0} struck 500 undone 3500
repeat 12 every 200: token 1 at 600
repeat 12 every 1: line by 0 at 3550: 1
=> late 12, unrecovered 1, underfull some
