# Late, starved for less. The token is due at 350 ms, slack included, and read 60 ms later. The
# process is sampled at 0 ms, 500 ms, and so on.
token 0 at 50
line at 150: 0
token 1 at 199
line at 410: 1
repeat 4 every 1000: sample at 0 rss 5000
sample at 500 rss 5000 starved 59
repeat 3 every 1000: sample at 1500 rss 5000
=> late 1
