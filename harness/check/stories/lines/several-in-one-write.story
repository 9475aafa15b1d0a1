# Several in one write. Ten tokens wait at the start, and the collector writes their four lines at
# once.
token 0-9 at -500 backlog
line at 20: 0-2
line at 20: 3-5
line at 20: 6-8
line at 20: 9
=> verdict pass
