# Loses descriptors, two a second.
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
sample at 4000 rss 5000 fds 18 processes 1
sample at 4500 rss 5000 fds 19 processes 1
sample at 5000 rss 5000 fds 20 processes 1
sample at 5500 rss 5000 fds 21 processes 1
sample at 6000 rss 5000 fds 22 processes 1
sample at 6500 rss 5000 fds 23 processes 1
sample at 7000 rss 5000 fds 24 processes 1
sample at 7500 rss 5000 fds 25 processes 1
=> leak 1, says "descriptors"
