# Recovers behind a delay. Each way between collector and server takes 200 ms longer. The session is
# reset meanwhile. To connect again, to set up the session and to take a token needs some round
# trips, and each lasts 400 ms longer. The token comes after two seconds.
session at -990
token 0 at 50
line at 150: 0
fault {do: delay, by: 200ms} struck 300 undone 3900
fault {do: reset} struck 500 undone 501
token 1 at 510
session at 1700
line at 2520: 1
=> verdict pass
