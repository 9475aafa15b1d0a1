# Takes over from one that nobody restarts. The first collector is killed at 500 ms, and the scenario
# restarts none. The grace is 3 s, so the takeover is due at 4500 ms.
set collector.instances=2
set collector.restart=false
set collector.env.MAILROOM_GRACE=3000
process 0 until 501 killed
process 1 instance 1
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, instance: 0} struck 500 undone 501
repeat 6 every 100: token 1 at 600
repeat 6 every 1: line at 4000: 1
=> verdict pass
