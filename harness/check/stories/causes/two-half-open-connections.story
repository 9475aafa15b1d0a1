# Two half-open connections. Two faults with 500 ms between them; the limit is 1 s. When the session
# is back, the token comes that was committed between the faults.
session at -990
token 0 at 50
line at 150: 0
fault {do: half-open} struck 200 undone 1000
token 1 at 1050
fault {do: half-open} struck 1500 undone 2300
session at 2400
line at 2410: 1
=> verdict pass
