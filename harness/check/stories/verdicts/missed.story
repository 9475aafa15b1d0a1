# Missed.
set expect.latency.p99=< 1ms
token 0 at 50
line at 150: 0
=> verdict missed
