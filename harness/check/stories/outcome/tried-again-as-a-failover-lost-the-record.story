# Tried again, as a failover lost the record. The answer came long before the failover, but what was
# committed since then was left behind, and the record of the answer with it.
set collector.dequeue=leased
set postgres.provider=patroni
set postgres.standby=async
token 0 at 50
line at 150: 0 sent 160
fault {do: kill-leader} struck 900 undone 1400 left 155
line at 1600: 0 sent 1610
=> judged resurrected 1 of 2 (fault 1), verdict pass
