# Sends at once while another is paused. Two share the work. All that the second had taken is
# written when it is paused. The first sends what comes after that without a window.
set collector.instances=2
set collector.dequeue=shared
session at -990
token 0 at 50
line by 0 at 151: 0
token 1 at 200
line by 1 at 301: 1
fault {do: pause-collector, instance: 1} struck 1000 undone 3000
repeat 6 every 300: token 2 at 1200
repeat 6 every 300: line by 0 at 1210: 2
=> early 6
