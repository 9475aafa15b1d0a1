# Confirmed by the next line which is lost. The collector confirms a line with its next one, eight
# seconds later. The server loses the commits of the last second.
set load.0.for=12s
set postgres.standby=async
set recovery_limit=5s
session at -990
token 0 at 900
line at 1001: 0
token 1 at 8900
line at 9001: 1
fault {do: promote-standby} struck 9010 undone 9200 left 8000
session at 9250
line at 9300: 0
line at 9301: 1
=> verdict pass
