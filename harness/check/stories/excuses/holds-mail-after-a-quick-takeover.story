# Holds mail after a quick takeover. The second collector takes over at once from the killed one and
# writes fresh lines. It then uses the rest of the time that a takeover may take.
set collector.instances=2
session at -990
process 0 until 500 killed
process 1 instance 1
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, instance: 0, for: rest} struck 500 undone 501
token 1 at 510
line by 1 at 612: 1
token 2 at 620
line by 1 at 721: 2
token 3 at 800
line by 1 at 1950: 3
=> late 1
