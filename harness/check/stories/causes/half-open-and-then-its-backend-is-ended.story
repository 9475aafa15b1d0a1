# Half-open, and then its backend is ended. Two faults with 500 ms between them; the limit is 1 s.
# When the session is back, the token comes that was committed between the faults.
session at -990
token 0 at 50
line at 150: 0
fault {do: half-open} struck 200 undone 1000
token 1 at 1050
fault {do: terminate-backend} struck 1500 undone 1501
session at 1900
line at 1910: 1
=> verdict pass
