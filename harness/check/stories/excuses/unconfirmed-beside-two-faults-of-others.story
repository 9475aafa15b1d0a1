# Unconfirmed beside two faults of others. A snapshot stays open, and the other collector is killed.
# Neither touches the first one's line, which was confirmed long ago. It ends with 75 at TERM and
# the line is sent again.
set collector.dequeue=shared
set collector.instances=2
session at -990
process 0 until 1000 exit 75 asked
process 1 instance 1 until 920 killed
process 2 from 1100
process 3 instance 1 from 1020
token 0 at 50
line by 0 at 150: 0
fault {do: old-snapshot} struck 100 undone 3000
fault {do: stop-collector, instance: 0} struck 900 undone 1000
fault {do: kill-collector, instance: 1} struck 919 undone 920
session at 1070
session at 1150
line by 2 at 1250: 0
=> duplicated 1
