# A shared queue. In a shared queue the cursor does not move.
set collector.dequeue=shared
token 0 at 50
line at 150: 0
row 0 waiting
=> verdict pass
