# A full batch, as slowly as it said. The collector sustains eight tokens a second, which is a line
# in 375 ms.
set collector.batch_timeout=2s
set collector.capacity=8/s
repeat 100 every 90: flush at 10 took 1
token 0 at 50
line at 2051: 0
repeat 3 every 20: token 1 at 2500
line at 2880: 1-3
=> verdict pass
