# Refused and back after its backoff. The server refuses connections until it is back, and the
# collector tries again 400 ms after its last attempt.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: crash-server} struck 2500 undone 3000
token 1 at 3005
session at 3400
line at 3415: 1
=> verdict pass
