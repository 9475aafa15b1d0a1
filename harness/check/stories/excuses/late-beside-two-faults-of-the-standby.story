# Late beside two faults of the standby. The standby is paused, and then nobody reads it. Neither
# touches the holder, which holds a token for two seconds.
set collector.instances=2
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 1} struck 1000 undone 2000
fault {do: pause-reader, instance: 1} struck 1900 undone 3900
token 1 at 1100
line by 0 at 3100: 1
=> late 1
