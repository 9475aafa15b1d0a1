# Leaves a batch behind in a backlog. Three tokens come each 10 ms, and two collectors write a line
# of three each 20 ms, so the tokens wait for up to a second. The second collector is killed at 650
# ms, while it has the batch of 300 ms. By 1110 ms others have overtaken it. Nothing was killed, so
# nobody had a reason to leave the batch behind.
set collector.dequeue=shared
set collector.instances=2
session at -990
repeat 100 every 10: token 0-2 at 0
repeat 25 every 80 step 12: line by 0 at 80: 0-2
repeat 14 every 40 step 6: line by 1 at 100: 3-5
repeat 13 every 160 step 24: line by 0 at 120: 6-8
repeat 6 every 320 step 48: line by 0 at 200: 18-20
line by 0 at 360: 42-44
repeat 36 every 40 step 6: line by 0 at 660: 87-89
repeat 4 every 320 step 48: line by 0 at 1000: 138-140
line by 0 at 1110: 90-92
=> late 3
