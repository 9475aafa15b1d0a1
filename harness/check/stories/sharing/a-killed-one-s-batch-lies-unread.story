# A killed one's batch lies unread. The second is killed at 400 ms with a batch of a backlog. The
# first writes a short line, and then that batch, and both are read when the pause of its reader is
# over.
set collector.dequeue=shared
set collector.instances=2
process 0
process 1 instance 1 until 401 killed
process 2 instance 1 from 501
session at -990
token 0-31 at 50
repeat 5 every 80 step 6: line by 0 at 60: 0-2
repeat 4 every 80 step 6: line by 1 at 100: 3-5
fault {do: kill-collector, instance: 1} struck 400 undone 401
fault {do: pause-reader, instance: 0} struck 410 undone 2100
session at 520
line by 0 at 2101: 30-31
line by 0 at 2101: 27-29
=> verdict pass
