# Idles in a crowd of its own. One of two that share the work writes nothing. It waits for a
# processor, because its own threads keep all of them busy.
set collector.dequeue=shared
set collector.instances=2
set collector.capacity=30/s
token 0-119 at 50
repeat 40 every 90: line by 0 at 80: 0-2
sample by 1 at 0 rss 5000
repeat 7 every 500: sample by 1 at 500 rss 5000 cpu 1000 starved 400
=> idle_instance 1
