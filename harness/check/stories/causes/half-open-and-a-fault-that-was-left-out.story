# Half-open, and a fault that was left out. Two faults with 500 ms between them; the limit is 1 s.
# When the session is back, the token comes that was committed between the faults. Nothing wanted to
# pass during the second fault, so it was left out at its end. The collector was silent all the
# time, and reconnects afterwards.
session at -990
token 0 at 50
line at 150: 0
fault {do: half-open} struck 200 undone 1000
token 1 at 1050
fault {do: half-open} struck 1500 undone 2300 busy
session at 2400
line at 2410: 1
=> verdict pass
