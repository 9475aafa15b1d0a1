# Early with a processor. Others kept the processors from the collector's backend for 24 ms. Up to
# 25 ms count as the announcement's usual way.
token 0 at 50
line at 150: 0
token 1 at 200
line at 250: 1
look at -1000
repeat 100 every 50: look at -950 waited 8 own 1 ran 1
=> early 1
