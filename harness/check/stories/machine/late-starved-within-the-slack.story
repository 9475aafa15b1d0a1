# Late, starved within the slack. The process starved for longer than the token was late, but for
# less than half the slack, which does not count.
token 0 at 50
line at 150: 0
token 1 at 199
line at 360: 1
repeat 4 every 1000: sample at 0 rss 5000
sample at 500 rss 5000 starved 20
repeat 3 every 1000: sample at 1500 rss 5000
=> late 1
