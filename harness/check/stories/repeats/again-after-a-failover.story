# Again after a failover.
set postgres.standby=async
token 0 at 50
line at 150: 0
fault {do: promote-standby} struck 300 undone 800
line at 900: 0
=> verdict pass
