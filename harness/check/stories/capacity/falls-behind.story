# Falls behind. 20 tokens a second come for 4 s. The scenario says that the collector sustains 30 a
# second. The collector sustains 10 a second. Its full lines follow each other without a gap, so no
# token is late by itself.
set collector.batch_limit=1
set collector.capacity=30/s
set load.0.rate=20/s
set slack=110ms
repeat 80 every 50: token 0 at 50
repeat 80 every 100: line at 60: 0
=> falls_behind 1
