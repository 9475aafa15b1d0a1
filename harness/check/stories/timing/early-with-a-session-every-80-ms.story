# The collector waits for half of the timeout, and opens a session every 80 ms. Nothing has ended
# the session before, so the new ones are no reason.
session at -990
token 0 at 50
line at 150: 0
repeat 40 every 80: session at 200
repeat 20 every 150: token 1 at 260
repeat 20 every 150: line at 310: 1
=> early 20
