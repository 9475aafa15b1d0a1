# Keeps up until it is interrupted. Three of the four planned seconds of load came, and no more is
# judged.
set collector.batch_limit=1
set collector.capacity=30/s
set load.0.rate=20/s
load until 3000
run until 3100 interrupted
repeat 60 every 50: token 0 at 50
repeat 60 every 50: line at 60: 0
=> judged falls_behind 2.75 of 2.75, verdict inconclusive
