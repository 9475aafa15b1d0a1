# Fails at term while another is paused. Two share the work, and the second is paused. That does not
# explain why the first ends with 70 at TERM.
set collector.instances=2
set collector.dequeue=shared
session at -990
process 0 until 950 exit 70 asked
process 1 instance 1
process 2 from 1050
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 1} struck 500 undone 2000
fault {do: stop-collector, instance: 0} struck 900 undone 950
=> unplanned_exit 1
