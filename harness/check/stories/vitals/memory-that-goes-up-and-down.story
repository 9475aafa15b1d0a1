# Memory that goes up and down, and happens to end high.
set load.0.for=8s
token 0 at 50
line at 150: 0
sample at 0 rss 5000
sample at 500 rss 5300
sample at 1000 rss 5100
sample at 1500 rss 5500
sample at 2000 rss 5050
sample at 2500 rss 5400
sample at 3000 rss 5200
sample at 3500 rss 5600
sample at 4000 rss 5000
sample at 4500 rss 5300
sample at 5000 rss 5100
sample at 5500 rss 5500
sample at 6000 rss 5050
sample at 6500 rss 5400
sample at 7000 rss 5200
sample at 7500 rss 5600
=> judged leak 6 of 6
