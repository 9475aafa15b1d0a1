# A full batch beside quick flushes. A flush takes a millisecond, which explains no wait of 340 ms.
set collector.batch_timeout=2s
repeat 100 every 90: flush at 10 took 1
token 0 at 50
line at 2051: 0
repeat 3 every 20: token 1 at 2500
line at 2880: 1-3
=> late some
