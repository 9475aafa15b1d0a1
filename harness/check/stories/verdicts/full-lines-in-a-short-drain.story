# Full lines in a short drain. The check looks at the last 2T + 1 s, which is more than the drain,
# and must not count the full line from before the drain.
set collector.batch_timeout=5s
token 0 at 50
line at 150: 0
token 1-2 at 200
token 3-5 at 3998
line at 4001: 3-5
=> verdict inconclusive
