# Held back in a storm of kills. Two of three collectors that share the work are killed in turn. The
# third is never hit, and holds a token for almost three seconds.
set collector.instances=3
set collector.dequeue=shared
session at -990
process 0 until 1000 killed
process 1 instance 1 until 1500 killed
process 2 instance 2
process 3 from 1100 until 2000 killed
process 4 instance 1 from 1600 until 2500 killed
process 5 from 2100 until 3000 killed
process 6 instance 1 from 2600 until 3500 killed
process 7 from 3100
process 8 instance 1 from 3600
repeat 3 every 1000: fault {do: kill-collector, instance: 0} struck 1000
repeat 3 every 1000: fault {do: kill-collector, instance: 1} struck 1500
repeat 5 every 500: session at 1150
token 0 at 50
line by 0 at 150: 0
token 1 at 990
repeat 8 every 300: token 2 at 1050
repeat 8 every 300: line by 2 at 1151: 2
line by 2 at 3900: 1
=> late 1
