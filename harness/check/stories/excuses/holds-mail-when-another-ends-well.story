# Holds mail when another ends well. Two share the work. One is told to end, confirms all that it
# wrote and ends with 0. The other has nothing to adopt, and holds a later token for 1.2 s.
set collector.instances=2
set collector.dequeue=shared
session at -990
process 0
process 1 instance 1 until 520 exit 0 asked
token 0 at 50
line by 0 at 150: 0
fault {do: stop-collector, instance: 1, for: rest} struck 500 undone 520
token 1 at 600
line by 0 at 1800: 1
=> late 1
