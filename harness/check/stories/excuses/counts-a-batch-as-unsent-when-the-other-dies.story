# Counts a batch as unsent when the other dies. The second collector is killed. The first one's last
# line, which it had long confirmed, goes out again by its own hand.
set collector.instances=2
set collector.dequeue=shared
session at -990
process 0
process 1 instance 1 until 500 killed
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, instance: 1, for: rest} struck 500 undone 501
line by 0 at 1300: 0
=> duplicated 1
