# Silence that a health check notices. The network loses the connection while nothing is to do. The
# health check is due every 270 s, and the limit is five seconds more.
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
session at 274500
line at 274600: 1
=> verdict pass
