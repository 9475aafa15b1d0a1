# A full batch behind slow flushes. A flush takes 100 ms. The line before may still be confirmed, and
# this one is claimed first, so the batch may wait for 350 ms.
set collector.batch_timeout=2s
repeat 100 every 90: flush at 10 took 100
token 0 at 50
line at 2051: 0
repeat 3 every 20: token 1 at 2500
line at 2880: 1-3
=> verdict pass
