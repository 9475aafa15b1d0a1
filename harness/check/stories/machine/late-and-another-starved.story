# Late, and another starved. The token is due at 350 ms, slack included, and read 60 ms later. The
# process is sampled at 0 ms, 500 ms, and so on. Another process starved, not the one that wrote the
# line.
process 0
process 1
token 0 at 50
line by 0 at 150: 0
token 1 at 199
line by 0 at 410: 1
repeat 4 every 1000: sample by 1 at 0 rss 5000
sample by 1 at 500 rss 5000 starved 60
repeat 3 every 1000: sample by 1 at 1500 rss 5000
=> late 1
