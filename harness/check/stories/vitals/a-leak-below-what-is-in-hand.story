# A leak below what is in hand, which goes up and down.
set load.0.for=8s
token 0 at 50
line at 150: 0
sample at 0 rss 5000
sample at 250 rss 5730
sample at 500 rss 5060
sample at 750 rss 5790
sample at 1000 rss 5120
sample at 1250 rss 5850
sample at 1500 rss 5180
sample at 1750 rss 5910
sample at 2000 rss 5240
sample at 2250 rss 5970
sample at 2500 rss 5300
sample at 2750 rss 6030
sample at 3000 rss 5360
sample at 3250 rss 6090
sample at 3500 rss 5420
sample at 3750 rss 6150
sample at 4000 rss 5480
sample at 4250 rss 6210
sample at 4500 rss 5540
sample at 4750 rss 6270
sample at 5000 rss 5600
sample at 5250 rss 6330
sample at 5500 rss 5660
sample at 5750 rss 6390
sample at 6000 rss 5720
sample at 6250 rss 6450
sample at 6500 rss 5780
sample at 6750 rss 6510
sample at 7000 rss 5840
sample at 7250 rss 6570
sample at 7500 rss 5900
sample at 7750 rss 6630
=> leak 1
