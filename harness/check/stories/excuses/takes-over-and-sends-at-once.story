# Takes over and sends at once. The holder is killed. The other takes over half a second later and
# sends at once what waits, also what has just come.
set collector.instances=2
session at -990
process 0 until 900 killed
process 1 instance 1
process 2 from 1000
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, instance: 0} struck 900 undone 901
token 1 at 1370
line by 1 at 1410: 1
=> verdict pass
