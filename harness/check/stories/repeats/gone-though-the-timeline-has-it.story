# Gone, though the timeline has it. A failover leaves the last commits of the old leader behind. A
# commit that was acknowledged at 291 ms is gone, which the scenario allows.
set postgres.provider=patroni
set postgres.standby=async
set allow.vanished=any
token 0 at 50
line at 150: 0
token 1 at 290
fault {do: kill-leader} struck 300 undone 800 left 295
row 1 gone
=> vanished 1
