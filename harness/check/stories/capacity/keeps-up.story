# Keeps up. 20 tokens a second come for 4 s. The scenario says that the collector sustains 30 a
# second.
set collector.batch_limit=1
set collector.capacity=30/s
set load.0.rate=20/s
repeat 80 every 50: token 0 at 50
repeat 80 every 50: line at 60: 0
=> verdict pass
