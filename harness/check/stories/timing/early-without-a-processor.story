# Early without a processor. The announcement reached the collector late, because others kept the
# processors from its backend for 45 ms. Up to 25 ms count as the announcement's usual way.
token 0 at 50
line at 150: 0
token 1 at 200
line at 250: 1
look at -1000
repeat 100 every 50: look at -950 waited 15 own 1 ran 1
=> verdict pass
