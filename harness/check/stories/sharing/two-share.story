# Two share. 120 tokens at once, in a line each 90 ms. The collectors take turns.
set collector.dequeue=shared
set collector.instances=2
set collector.capacity=30/s
token 0-119 at 50
repeat 20 every 180 step 6: line by 0 at 80: 0-2
repeat 20 every 180 step 6: line by 1 at 170: 3-5
=> verdict pass
