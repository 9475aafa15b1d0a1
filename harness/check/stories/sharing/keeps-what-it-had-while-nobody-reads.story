# Keeps what it had while nobody reads. They promise a lease. Nobody reads one of them for three
# seconds, but it lives and keeps its lease.
set collector.instances=2
set collector.dequeue=shared
set collector.env.MAILROOM_LEASE=1000
set recovery_limit=5s
session at -990
token 0 at 50
line by 0 at 150: 0
token 1 at 950
fault {do: pause-reader, instance: 1} struck 1000 undone 4000
repeat 9 every 300: token 2 at 1200
repeat 9 every 300: line by 0 at 1301: 2
line by 1 at 4001 empty 1000: 1
=> verdict pass
