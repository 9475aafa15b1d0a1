# Two half-open connections, and back too late. Two faults with 500 ms between them; the limit is 1
# s. When the session is back, the token comes that was committed between the faults. The session is
# due at 3800 ms: 500 ms of the limit pass between the faults, the second fault lasts 800 ms, the
# limit begins anew with 1 s, and the other 500 ms of the first limit follow.
session at -990
token 0 at 50
line at 150: 0
fault {do: half-open} struck 200 undone 1000
token 1 at 1050
fault {do: half-open} struck 1500 undone 2300
session at 3850
line at 3860: 1
=> late 1, unrecovered 1
