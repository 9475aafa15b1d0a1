# A batch that another may have. Two share the work. What waits may be in the hand of the other, so
# nobody can tell that a full batch waits.
set collector.batch_timeout=1s
set collector.instances=2
set collector.dequeue=shared
token 0 at 50
line by 0 at 1051: 0
repeat 3 every 20: token 1 at 1500
line by 1 at 2502: 1-3
=> verdict pass
