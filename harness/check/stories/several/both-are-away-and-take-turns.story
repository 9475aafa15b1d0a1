# Both are away, and take turns. Both are paused: the second until 3900 ms. The token is committed
# while both are paused.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 0} struck 500 undone 3500
fault {do: pause-collector, instance: 1} struck 900 undone 3900
token 1 at 1000
line by 0 at 3600: 1
=> verdict pass
