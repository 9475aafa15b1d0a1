# Loses sessions.
set load.0.for=8s
token 0 at 50
line at 150: 0
sample at 0 rss 5000 fds 10 processes 1
sample at 500 rss 5000 fds 10 processes 1
sample at 1000 rss 5000 fds 10 processes 1
sample at 1500 rss 5000 fds 10 processes 1
sample at 2000 rss 5000 fds 10 processes 1
sample at 2500 rss 5000 fds 10 processes 1
sample at 3000 rss 5000 fds 10 processes 1
sample at 3500 rss 5000 fds 10 processes 1
sample at 4000 rss 5000 fds 10 processes 1
sample at 4500 rss 5000 fds 10 processes 1
sample at 5000 rss 5000 fds 10 processes 1
sample at 5500 rss 5000 fds 10 processes 1
sample at 6000 rss 5000 fds 10 processes 1
sample at 6500 rss 5000 fds 10 processes 1
sample at 7000 rss 5000 fds 10 processes 1
sample at 7500 rss 5000 fds 10 processes 1
presence at 0 sessions 1
presence at 1000 sessions 2
presence at 2000 sessions 3
presence at 3000 sessions 4
presence at 4000 sessions 5
presence at 5000 sessions 6
presence at 6000 sessions 7
presence at 7000 sessions 8
=> leak 1, says "sessions"
