# Late after a takeover. The holder is killed. The other collector takes over and writes two lines
# with fresh tokens. It then holds a token back for 600 ms.
set collector.instances=2
session at -990
process 0 until 1000 killed
process 1 instance 1
process 2 from 1100
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, instance: 0} struck 1000 undone 1001
token 1 at 1010
line by 1 at 1111: 1
token 2 at 1150
line by 1 at 1251: 2
token 3 at 1300
line by 1 at 2001: 3
=> late 1
