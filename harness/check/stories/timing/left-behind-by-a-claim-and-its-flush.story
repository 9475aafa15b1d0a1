# Left behind by a claim and its flush. A token comes while a line is claimed, which takes a flush of
# 70 ms, and is in the next line.
set collector.batch_limit=10
set collector.batch_timeout=220ms
repeat 100 every 90: flush at 10 took 70
repeat 12 every 100: token 0 at 50
repeat 12 every 100: line at 312: 0
=> verdict pass
