# Holds mail while another is not read. Two share the work. Nobody reads the second for two seconds.
# The first is read, and holds a token all that time.
set collector.instances=2
set collector.dequeue=shared
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-reader, instance: 1} struck 1000 undone 3000
token 1 at 1100
line by 0 at 3005: 1
=> late 1
