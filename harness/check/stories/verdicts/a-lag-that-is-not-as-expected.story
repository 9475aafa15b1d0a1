# A lag of the generator that is not as expected. That says nothing of the collector.
set expect.generator.lag_p99_ms=< 10ms
token 0 due 0 at 50
line at 150: 0
=> verdict inconclusive
