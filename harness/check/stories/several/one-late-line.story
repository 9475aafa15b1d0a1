# One late line. The holder hangs for 3 s. The other may take its turn after the lease. A holder
# that hung writes one line whose tokens another had taken over. That is allowed once.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 0} struck 500 undone 3500
repeat 12 every 200: token 1 at 600
repeat 4 every 1: line by 1 at 1400: 1
repeat 8 every 200: line by 1 at 1502: 5
line by 0 at 3510: 1
=> verdict pass
