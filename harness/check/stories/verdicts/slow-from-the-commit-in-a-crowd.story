# Slow from the commit, in a crowd. Programs that do not belong to the run use nine tenths of the
# processors, which the slack forgives and the expectation does not.
set slack=3s
set expect.latency.from_commit.p99=< 50ms
run others 90%
token 0 at 50
line at 150: 0
=> verdict inconclusive
