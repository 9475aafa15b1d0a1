# Three sharers come back one by one. The server crashes under three that share the work. One is
# back at once, the others 900 ms later, with what they had taken.
set collector.instances=3
set collector.dequeue=shared
set recovery_limit=5s
session at -990
repeat 9: token 0 at 940
fault {do: crash-server} struck 1000 undone 1300
session at 1350
line by 0 at 1360: 0-2
token 9 at 1370
line by 0 at 1471: 9
repeat 2 every 1: session at 2200
line by 1 at 2210: 3-5
line by 2 at 2211: 6-8
=> verdict pass
