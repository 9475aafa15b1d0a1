# Missed by more than the generator's lag. It sends the token half a second late, and the collector
# takes 1.5 s more.
set slack=3s
set expect.latency.p99=< 300ms
token 0 due 0 at 500
line at 2000: 0
=> verdict missed
