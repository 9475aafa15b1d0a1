# One is back, and does nothing. Both are paused: the second until 3900 ms. The token is committed
# while both are paused. The first collector is back at 1500 ms. From then on it has the grace and
# one second to take over the tokens of the second.
set collector.dequeue=shared
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 0} struck 500 undone 1500
fault {do: pause-collector, instance: 1} struck 900 undone 3900
token 1 at 1000
line by 0 at 3800: 1
=> late 1
