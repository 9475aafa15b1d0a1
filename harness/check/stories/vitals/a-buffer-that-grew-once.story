# A buffer that grew once.
token 0 at 50
line at 150: 0
repeat 4 every 500: sample at 0 rss 5000
repeat 4 every 500: sample at 2000 rss 9000
=> verdict pass
