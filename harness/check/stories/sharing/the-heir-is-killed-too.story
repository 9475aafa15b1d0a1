# The heir is killed, too. One of three is killed with a token that it had taken. When the grace is
# over, the second takes the token, and is killed before it has written it. The third writes it
# within the same time after the second death.
set collector.instances=3
set collector.dequeue=shared
process 0 instance 0 from -1000 until 900 killed
process 1 instance 1 from -1000 until 1450 killed
process 2 instance 2 from -1000
token 0 at 850
fault {do: kill-collector, instance: 0, for: rest} struck 899 undone 900
fault {do: kill-collector, instance: 1, for: rest} struck 1449 undone 1450
line by 2 at 2900: 0
=> verdict pass, judged late 0 of 1 (adoption 1)
