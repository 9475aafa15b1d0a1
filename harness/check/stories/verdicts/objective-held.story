# Objective held.
set expect.latency.p99=< 500ms
token 0 at 50
line at 150: 0
=> verdict pass
