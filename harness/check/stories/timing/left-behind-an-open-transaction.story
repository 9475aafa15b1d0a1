# Left behind an open transaction. The subject waits for writers. An older transaction ends after the
# line was taken, and its token is in the next one.
set collector.promises=[no_loss, once, limit, timeout, fills, waits_for_writers]
repeat 100 every 100: flush at 10 took 1
token 0 at 50
line at 151: 0
token 3 at 990 commit 1340 ack 1341
token 1 at 1000
token 2 at 1002
line at 1445: 1-2
line at 1447: 3
=> verdict pass
