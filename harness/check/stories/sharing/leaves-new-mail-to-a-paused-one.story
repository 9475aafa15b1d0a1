# Leaves new mail to a paused one. Two share the work, and one is paused. A token comes half a second
# later, so the paused one cannot have taken it. The other writes what comes after it, but not this
# token, which the paused one writes when it goes on.
set collector.instances=2
set collector.dequeue=shared
set recovery_limit=5s
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 1} struck 1000 undone 3500
token 1 at 1500
repeat 6 every 300: token 2 at 1600
repeat 6 every 300: line by 0 at 1701: 2
line by 1 at 3510: 1
=> late 1
