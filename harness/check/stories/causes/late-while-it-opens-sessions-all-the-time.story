# The plan ends the session every 300 ms, and the collector opens one every 25 ms. It is back soon,
# and writes in time, but holds one token back for 700 ms. Its own sessions explain nothing.
session at -990
repeat 9 every 300: fault {do: terminate-backend} struck 400 undone 402
repeat 120 every 25: session at 410
repeat 33 every 30: token 0 at 450
repeat 33 every 30: line at 551: 0
token 33 at 1460
repeat 33 every 30: token 34 at 1470
repeat 20 every 30: line at 1571: 34
line at 2162: 33
repeat 13 every 30: line at 2171: 54
=> late 1, out_of_order 1
