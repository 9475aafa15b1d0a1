# Cancelled while it comes back. A reset ends the session. The collector is back after 40 ms, where
# a query of its set-up is cancelled. That ends this session as well, and the next one opens 146 ms
# later.
set recovery_limit=5s
set slack=53ms
session at -990
token 0 at 50
line at 150: 0
fault {do: reset} struck 1291 undone 1291.5
session at 1331
fault {do: cancel-query} planned 1291 sought 1291.1 struck 1337 undone 1338
token 1 at 1338 ack 1339
session at 1484
line at 1508: 1
=> verdict pass
