# Takes over late when killed meanwhile. The holder hangs, and the other one is killed before the
# lease is over. Its takeover is due at 2600 ms. In this story it comes 400 ms later.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
process 0
process 1 instance 1 until 1001 killed
process 2 instance 1 from 1100
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 0} struck 500 undone 3500
fault {do: kill-collector, instance: 1} struck 1000 undone 1001
token 1 at 600
line by 2 at 3000: 1
=> late 1
