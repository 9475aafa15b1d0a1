# Silence that no health check notices. The collector needs half a minute more than its health check
# and its answer may take.
set load.0.for=10m
set recovery_limit=275s
set collector.env.MAILROOM_HEALTHCHECK_INTERVAL=270000
set drain=1m
run until 660000
session at -990
token 0 at 50
line at 150: 0
fault {do: half-open, direction: to-collector} struck 1000 undone 2000
token 1 at 100000
session at 379900
line at 380000: 1
=> late 1, unrecovered 1
