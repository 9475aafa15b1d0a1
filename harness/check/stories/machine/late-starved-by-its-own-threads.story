# Late, starved by its own threads. The token is due at 350 ms, slack included, and read 60 ms
# later. The process is sampled at 0 ms, 500 ms, and so on. Its other threads kept both processors
# busy.
token 0 at 50
line at 150: 0
token 1 at 199
line at 410: 1
sample at 0 rss 5000
sample at 500 rss 5000 cpu 1000 starved 60
repeat 6 every 500: sample at 1000 rss 5000 cpu 1000
=> late 1
