# Grows until the garbage is collected, which this run does not show.
set collector.memory=collected
set load.0.for=8s
token 0 at 50
line at 150: 0
sample at 0 rss 5000
sample at 500 rss 5100
sample at 1000 rss 5200
sample at 1500 rss 5300
sample at 2000 rss 5400
sample at 2500 rss 5500
sample at 3000 rss 5600
sample at 3500 rss 5700
sample at 4000 rss 5800
sample at 4500 rss 5900
sample at 5000 rss 6000
sample at 5500 rss 6100
sample at 6000 rss 6200
sample at 6500 rss 6300
sample at 7000 rss 6400
sample at 7500 rss 6500
=> verdict pass
