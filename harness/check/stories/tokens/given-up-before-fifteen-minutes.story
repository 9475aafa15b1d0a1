# Given up before fifteen minutes. The collector stands still for 14 minutes, and takes the token for
# expired.
set load.0.for=20m
set drain=1m
run until 1210000
session at -990
token 0 at 50
line at 150: 0
token 1 at 200
row 1 expires 900200
fault {do: pause-collector} struck 210 undone 840000
token 2 at 840500
line at 840602: 2
=> lost 1
