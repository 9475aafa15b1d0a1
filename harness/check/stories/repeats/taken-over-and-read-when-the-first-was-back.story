# Taken over, and read when the first was back. The first of two collectors hangs from 500 ms to
# 3500 ms, and the other takes its turn after a second. The reader of one of them is paused until
# 3600 ms. The other's line is read when the hanging one has returned and has written another.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0 at 50
line by 0 at 150: 0
token 1 at 300
line by 0 at 410: 1
fault {do: pause-collector, instance: 0} struck 500 undone 3500
fault {do: pause-reader, instance: 1} struck 1000 undone 3600
token 2 at 3400
line by 0 at 3510: 2
line by 1 at 3601: 1
=> verdict pass
