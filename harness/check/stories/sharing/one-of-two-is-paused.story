# One of two is paused. 120 tokens at once, in a line each 90 ms.
set collector.dequeue=shared
set collector.instances=2
set collector.capacity=30/s
session at -990
token 0-119 at 50
fault {do: pause-collector, instance: 1} struck 60 undone 3900
repeat 40 every 90: line by 0 at 80: 0-2
=> verdict pass
