# Missed from the commit, whatever the generator's lag: it is not in that time.
set slack=3s
set expect.latency.from_commit.p99=< 50ms
token 0 due 0 at 500
line at 600: 0
=> verdict missed
