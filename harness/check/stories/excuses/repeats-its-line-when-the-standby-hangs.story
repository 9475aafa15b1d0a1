# Repeats its line when the standby hangs. The standby hangs for a while, and the holder works on.
# When the standby is back, the holder's last line goes out again.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 1} struck 300 undone 2300
line by 1 at 2400: 0
=> duplicated 1
