# Taken as it is paused. Two share the work. A statement of the paused one still runs in the server,
# and takes a token that comes 35 ms after the pause began.
set collector.instances=2
set collector.dequeue=shared
set recovery_limit=5s
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 1} struck 1000 undone 3000
token 1 at 1035
repeat 6 every 300: token 2 at 1200
repeat 6 every 300: line by 0 at 1301: 2
line by 1 at 3010: 1
=> verdict pass
