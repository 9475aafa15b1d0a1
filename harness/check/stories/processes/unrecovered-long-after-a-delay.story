# Unrecovered long after a delay. The session is reset behind a delay that ends at 1000 ms. What was
# on its way then arrives 400 ms later, so the token could come at 2400 ms. It comes at 3 s.
session at -990
token 0 at 50
line at 150: 0
fault {do: delay, by: 200ms} struck 300 undone 1000
fault {do: reset} struck 500 undone 501
token 1 at 510
session at 2500
line at 3000: 1
=> late 1, unrecovered 1
