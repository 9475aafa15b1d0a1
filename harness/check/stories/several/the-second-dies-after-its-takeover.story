# The second dies after its takeover. The first collector is killed for good. The second one takes
# over at once, and is killed in the time that it had for that. Its next process, which must work at
# 1600 ms, gets no second takeover, and holds a token for more than two seconds.
set collector.instances=2
session at -990
process 0 until 501 killed
process 1 instance 1 until 1001 killed
process 2 instance 1 from 1100
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, instance: 0, for: rest} struck 500 undone 501
token 1 at 510
line by 1 at 620: 1
fault {do: kill-collector, instance: 1} struck 1000 undone 1001
token 2 at 1650
line by 2 at 3900: 2
=> late 1, unrecovered 1
