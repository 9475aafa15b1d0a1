# One of two idles. 120 tokens at once, in a line each 90 ms. The first collector writes all lines.
set collector.dequeue=shared
set collector.instances=2
set collector.capacity=30/s
token 0-119 at 50
repeat 40 every 90: line by 0 at 80: 0-2
=> idle_instance 1
