# Late between a slow disk and a reset. The disk is slow, and the session is reset once. The
# collector is back after 40 ms and writes two lines, and then holds a token for 1.2 s on the slow
# disk's account.
set recovery_limit=5s
set postgres.storage=crashable
session at -990
token 0 at 50
line at 150: 0
fault {do: slow-disk, by: 20ms} struck 500 undone 3900
fault {do: reset} struck 1000 undone 1001
session at 1040
token 1 at 1045
line at 1180: 1
token 2 at 1190
line at 1320: 2
token 3 at 1400
line at 2700: 3
=> late 1
