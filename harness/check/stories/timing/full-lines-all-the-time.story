# Full lines all the time. Full lines that follow each other show that the collector works as fast
# as it can.
token 0-29 at 50
repeat 10 every 40: line at 80: 0-2
=> verdict pass
