# Busy under load.
token 0 at 50
line at 150: 0
sample at 0 rss 5000
repeat 7 every 500: sample at 500 rss 5000 cpu 500 wakeups 1000
=> verdict pass
