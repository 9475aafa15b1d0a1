# New mail goes out at once beside a killed one. The token came 60 ms after the death, so the killed
# one cannot have had it.
set collector.instances=2
set collector.dequeue=shared
process 0 instance 0 from -1000
process 1 instance 1 from -1000 until 1400 killed
token 0 at 1200
line by 0 at 1301: 0
fault {do: kill-collector, instance: 1, for: rest} struck 1399 undone 1400
token 1 at 1460
line by 0 at 1500: 1
=> early 1
