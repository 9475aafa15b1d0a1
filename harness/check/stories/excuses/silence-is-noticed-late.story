# Silence is noticed late. The network is silent, and the collector notices that five seconds after
# it is whole again. The limit for that is six seconds.
set load.0.for=10s
set recovery_limit=6s
session at -990
token 0 at 50
line at 150: 0
fault {do: partition} struck 500 undone 3000
token 1 at 3200
session at 7900
line at 7910: 1
=> verdict pass
