# Early between two faults. The session opened long before the line, so it does not excuse the early
# line.
set collector.returns_within=100ms
session at -990
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 380 undone 381
session at 400
token 1 at 600
line at 650: 1
=> early 1
