# Opens a pool of connections in its first seconds, and keeps it.
set load.0.for=8s
token 0 at 50
line at 150: 0
sample at 0 rss 5000 fds 10 processes 1
sample at 500 rss 5000 fds 11 processes 1
sample at 1000 rss 5000 fds 12 processes 1
sample at 1500 rss 5000 fds 13 processes 1
sample at 2000 rss 5000 fds 14 processes 1
sample at 2500 rss 5000 fds 15 processes 1
sample at 3000 rss 5000 fds 16 processes 1
sample at 3500 rss 5000 fds 17 processes 1
sample at 4000 rss 5000 fds 17 processes 1
sample at 4500 rss 5000 fds 17 processes 1
sample at 5000 rss 5000 fds 17 processes 1
sample at 5500 rss 5000 fds 17 processes 1
sample at 6000 rss 5000 fds 17 processes 1
sample at 6500 rss 5000 fds 17 processes 1
sample at 7000 rss 5000 fds 17 processes 1
sample at 7500 rss 5000 fds 17 processes 1
=> judged leak 6 of 6
