# Expired in an outage of fifteen minutes. The server is away for longer than a token lives, which
# loses nothing.
set load.0.for=20m
set drain=1m
run until 1210000
session at -990
token 0 at 50
line at 150: 0
token 1 at 200
row 1 expires 900200
fault {do: stop-server} struck 210 undone 901000
session at 901050
token 2 at 901500
line at 901602: 2
=> verdict pass, expired_unsent 1
