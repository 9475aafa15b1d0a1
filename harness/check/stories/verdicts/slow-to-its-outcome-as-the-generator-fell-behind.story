# Missed for the generator's lag, to the answer. It sends the token half a second late.
set slack=3s
set collector.dequeue=leased
set expect.latency.to_outcome.p99=< 300ms
token 0 due 0 at 500
line at 600: 0 sent 610
attempt 0 number 1 sent
=> verdict inconclusive
