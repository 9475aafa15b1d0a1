# Never back from two half-open connections. Two faults with 500 ms between them; the limit is 1 s.
# When the session is back, the token comes that was committed between the faults. The session never
# comes back, so tokens that were committed since are lost.
session at -990
token 0 at 50
line at 150: 0
fault {do: half-open} struck 200 undone 1000
token 1 at 1050
fault {do: half-open} struck 1500 undone 2300
token 2 at 3000
=> lost 2, unrecovered 2
