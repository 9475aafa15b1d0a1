# Takes over long after the health check. The other one waits for half a minute more.
set load.0.for=10m
set collector.instances=2
set collector.env.MAILROOM_LEASE=600000
set collector.env.MAILROOM_HEALTHCHECK_INTERVAL=270000
set drain=1m
run until 660000
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 0} struck 500 undone 500000
token 1 at 600
line by 1 at 305400: 1
=> late 1
