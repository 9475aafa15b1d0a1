# Takes over late when a pause of all is over. The takeover is due at 5500 ms: all must work again at
# 4000 ms, and the grace and one second follow. In this story it comes at 6 s.
set collector.instances=2
process 0 until 501 killed
process 1 instance 1
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector} struck 400 undone 3000
fault {do: kill-collector, for: rest, instance: 0} struck 500 undone 501
token 1 at 3500
line by 1 at 6000: 1
=> late 1
