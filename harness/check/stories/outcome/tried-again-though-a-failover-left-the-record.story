# Tried again, though a failover left the record. The failover lost only what was committed long after
# the answer.
set collector.dequeue=leased
set postgres.provider=patroni
set postgres.standby=async
token 0 at 50
line at 150: 0 sent 160
fault {do: kill-leader} struck 900 undone 1400 left 600
line at 1600: 0 sent 1610
=> resurrected 1
