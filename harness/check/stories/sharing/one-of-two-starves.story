# One of two starves. 120 tokens at once, in a line each 90 ms. The second collector has a processor
# for a fifth of the time.
set collector.dequeue=shared
set collector.instances=2
set collector.capacity=30/s
token 0-119 at 50
repeat 40 every 90: line by 0 at 80: 0-2
sample by 1 at 0 rss 5000
repeat 7 every 500: sample by 1 at 500 rss 5000 starved 400
=> verdict pass
