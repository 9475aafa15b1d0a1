# One of two leaves work to the other. 60 tokens come at once, and the second collector delivers one
# each 100 ms. The first has written one line, or three.
set collector.dequeue=shared
set collector.instances=2
set collector.batch_limit=1
set collector.capacity=10/s
token 0-59 at 50
line by 0 at 60: 0 sent 5060
repeat 59 every 100: line by 1 at 160: 1 sent 161
=> idle_instance 1
