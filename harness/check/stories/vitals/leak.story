# Leak.
token 0 at 50
line at 150: 0
sample at 0 rss 5000
sample at 500 rss 5200
sample at 1000 rss 5400
sample at 1500 rss 5600
sample at 2000 rss 5800
sample at 2500 rss 6000
sample at 3000 rss 6200
sample at 3500 rss 6400
=> leak 1
