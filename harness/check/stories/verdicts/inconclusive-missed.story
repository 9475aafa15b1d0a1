# Inconclusive > missed.
set expect.latency.p99=< 1ms
load refused 1
token 0 at 50
line at 150: 0
=> verdict inconclusive
