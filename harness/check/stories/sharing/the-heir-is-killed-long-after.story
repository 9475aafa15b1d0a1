# The heir is killed long after it had taken the token of a killed one. It had to write it a quarter
# of a second after the grace at the latest, so its own death explains nothing.
set collector.instances=3
set collector.dequeue=shared
process 0 instance 0 from -1000 until 900 killed
process 1 instance 1 from -1000 until 1800 killed
process 2 instance 2 from -1000
token 0 at 850
fault {do: kill-collector, instance: 0, for: rest} struck 899 undone 900
fault {do: kill-collector, instance: 1, for: rest} struck 1799 undone 1800
line by 2 at 2900: 0
=> late 1
