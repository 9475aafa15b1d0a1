# Acknowledged when the fault is over. A token was sent before the session ended and is acknowledged
# after that. Its line proves no return.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
token 1 at 900 commit 995 ack 1003
fault {do: terminate-backend} struck 1000 undone 1001
line at 1002: 1
token 2 at 1050
session at 1505
line at 1510: 2
=> verdict pass
