# Lingers at term while another is paused. Two share the work, and the second is paused. The first
# gets TERM and ends two and a half seconds later.
set collector.instances=2
set collector.dequeue=shared
session at -990
process 0 until 3400 exit 0 asked
process 1 instance 1
process 2 from 3500
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 1} struck 800 undone 3300
fault {do: stop-collector, instance: 0} struck 900 undone 3400
=> unplanned_exit 1
