# Expired in an outage of fifteen minutes. The server is away for longer than a token lives, which
# loses nothing. One of the two that expire came out before; nothing has to excuse that one.
set load.0.for=20m
set drain=1m
set collector.batch_limit=1
run until 1210000
session at -990
token 0 at 50
line at 150: 0
token 1-2 at 200
line at 205: 2
row 1-2 expires 900200
fault {do: stop-server} struck 210 undone 901000
session at 901050
token 3 at 901500
line at 901602: 3
=> verdict pass, expired_unsent 1, judged lost 3 of 4 (fault 1)
