# Too many lines, as the generator sends the second token half a second late. Both might have stood
# in one.
set slack=3s
set expect.collector.batches=<= 1
token 0 due 0 at 50
line at 150: 0
token 1 due 0 at 500
line at 600: 1
=> verdict inconclusive
