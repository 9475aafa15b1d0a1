# Reconnects all the time. Its session is ended once, and it is back at once. It opens a new session
# every 20 ms, and writes nothing until it pleases to: the first line after the fault comes two
# seconds later. What a collector does by itself lengthens no excuse.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 400 undone 401
repeat 95 every 20: session at 410
token 1 at 430
line at 2300: 1
=> late 1
