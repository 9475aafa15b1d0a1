# Gone after the failover. A failover leaves the last commits of the old leader behind. A commit
# that was acknowledged at 291 ms is gone, which the scenario allows.
set postgres.provider=patroni
set postgres.standby=async
set allow.vanished=any
token 0 at 50
line at 150: 0
token 1 at 290
fault {do: kill-leader} struck 300 undone 800 left 280
token 2 at 850
line at 950: 2
token 3 at 1000
row 1 gone
row 3 gone
=> vanished 2
