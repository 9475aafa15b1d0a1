# Sent at once after a reconnect.
session at -990
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 380 undone 381
token 1 at 390
session at 400
line at 410: 1
=> verdict pass
