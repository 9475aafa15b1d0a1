# Late after a takeover and a reset. The holder is killed, and the session of the other one is
# reset. That one is back after 20 ms, takes over and writes two lines with fresh tokens. Then it
# holds a token for 1.2 s.
set collector.instances=2
set recovery_limit=5s
session at -990
process 0 until 1000 killed
process 1 instance 1
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, instance: 0, for: rest} struck 1000 undone 1001
fault {do: reset} struck 1020 undone 1021
session at 1040
token 1 at 1045
line by 1 at 1147: 1
token 2 at 1150
line by 1 at 1252: 2
token 3 at 1300
line by 1 at 2500: 3
=> late 1
