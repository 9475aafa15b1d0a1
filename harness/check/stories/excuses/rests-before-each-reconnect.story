# Rests before each reconnect. The collector waits for half a second before it connects again. The
# next fault waits for its session, and ends it at its birth.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 1000 undone 1001
token 1 at 1010
session at 1500
fault 0 planned 1300 sought 1300 struck 1501 undone 1502
session at 2001
line at 2010: 1
token 2 at 2020
line at 2121: 2
=> verdict pass
