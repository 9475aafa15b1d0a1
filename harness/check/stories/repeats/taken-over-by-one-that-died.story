# Taken over by one that died. The first of two collectors hangs from 500 ms to 3500 ms, and the
# other takes its turn after a second. The reader of one of them is paused until 3600 ms. The
# other's line is read when the hanging one has returned and has written another. The first one's
# line comes again when it has returned and written another. The other had taken the line over, but
# died before it wrote it.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
process 0
process 1 instance 1 until 1510 killed
process 2 instance 1 from 1610
session at -990
token 0 at 50
line by 0 at 150: 0
token 1 at 300
line by 0 at 410: 1
fault {do: pause-collector, instance: 0} struck 500 undone 3500
fault {do: kill-collector, instance: 1} struck 1509 undone 1510
token 2 at 3400
line by 0 at 3510: 2
fault {do: pause-reader, instance: 1} struck 3550 undone 3600
line by 2 at 3700: 1
=> verdict pass
