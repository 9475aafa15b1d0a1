# Held back when a standby is hit. The standby is paused. The holder was not hit, and holds a token
# back.
set collector.instances=2
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 1} struck 1000 undone 2000
token 1 at 1100
line by 0 at 1700: 1
=> late 1
