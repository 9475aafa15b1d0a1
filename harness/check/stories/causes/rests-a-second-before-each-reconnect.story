# Rests a second before each reconnect, as much as the scenario allows. Two faults end its session,
# and nothing is late.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 500 undone 501
token 1 at 510
session at 1490
line at 1495: 1
token 2 at 1500
line at 1601: 2
fault 0 struck 2500
token 3 at 2600
session at 3490
line at 3500: 3
=> verdict pass
