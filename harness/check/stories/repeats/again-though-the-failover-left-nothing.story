# Again, though the failover left nothing. A failover leaves the last commits of the old leader
# behind. The second line shows that the first one is confirmed, at some time from 170 to 250 ms.
set postgres.provider=patroni
set postgres.standby=async
token 0 at 50
token 1 at 140
line at 150: 0
line at 250: 1
fault {do: kill-leader} struck 300 undone 800 left never
line at 900: 0
=> duplicated 1
