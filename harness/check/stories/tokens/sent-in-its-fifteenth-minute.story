# Sent in its fifteenth minute. The collector stands still for almost 15 minutes, and writes the token
# two seconds before it expires.
set load.0.for=20m
set recovery_limit=5s
set drain=1m
run until 1210000
session at -990
token 0 at 50
line at 150: 0
fault {do: pause-collector} struck 500 undone 897900
token 1 at 450
row 1 expires 900450
line at 898000: 1
token 2 at 905000
line at 905102: 2
=> verdict pass
