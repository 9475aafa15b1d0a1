# Late behind a delay that is over. Each byte takes 30 ms longer, until 5 ms after the token was
# acknowledged. What was on its way then arrives 30 ms later. The collector holds the token for
# 430 ms.
set recovery_limit=5s
session at -990
token 0 at 50
line at 180: 0
fault {do: delay, by: 30ms} struck 500 undone 1005
token 1 at 1000
line at 1430: 1
=> late 1
