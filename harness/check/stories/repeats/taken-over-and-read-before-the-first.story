# Taken over, and read before the first. The first of two collectors hangs from 500 ms to 3500 ms,
# and the other takes its turn after a second. The reader of one of them is paused until 3600 ms.
# The hanging one's two lines are read when the other has written the second one again.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-reader, instance: 0} struck 300 undone 3600
token 1 at 310
token 2 at 390
fault {do: pause-collector, instance: 0} struck 500 undone 3500
line by 1 at 1510: 2
line by 0 at 3601: 1
line by 0 at 3601: 2
=> verdict pass
