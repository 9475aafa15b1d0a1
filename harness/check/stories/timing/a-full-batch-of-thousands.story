# A full batch of thousands. Two thousand tokens fill a line, and reading them may take 400 ms.
set collector.batch_limit=2000
set collector.batch_timeout=3s
repeat 100 every 90: flush at 10 took 1
token 0 at 50
line at 3051: 0
repeat 2000 every 0.1: token 1 at 3300
line at 3880: 1-2000
=> verdict pass
