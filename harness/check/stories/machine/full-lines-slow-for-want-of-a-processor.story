# Full lines, slow for want of a processor. A line comes every 60 ms, and the process waits 30 ms of
# each 500 ms for a processor.
token 0-26 at 50
repeat 9 every 60: line at 120: 0-2
sample at 0 rss 5000
repeat 7 every 500: sample at 500 rss 5000 starved 30
=> verdict pass
