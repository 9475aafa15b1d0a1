# Leaves a killed one's batch behind. Three tokens come each 10 ms, and two collectors write a line
# of three each 20 ms, so the tokens wait for up to a second. The second collector is killed at 650
# ms, while it has the batch of 300 ms. By 1110 ms others have overtaken it. The backlog has ended
# long before the batch of the killed one comes.
set collector.dequeue=shared
set collector.instances=2
process 0
process 1 instance 1 until 651 killed
session at -990
repeat 100 every 10: token 0-2 at 0
repeat 15 every 40 step 6: line by 0 at 80: 0-2
repeat 14 every 40 step 6: line by 1 at 100: 3-5
fault {do: kill-collector, for: rest, instance: 1} struck 650 undone 651
repeat 36 every 40 step 6: line at 660: 87-89
repeat 34 every 40 step 6: line at 720: 96-98
line at 4500: 90-92
=> late 3
