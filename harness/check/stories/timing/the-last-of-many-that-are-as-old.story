# The last of many that are as old. The token that comes last is no older than the other tokens of
# its backlog.
set collector.dequeue=shared
token 0 at 50
token 1-121 at 100
repeat 40 every 40: line at 140: 2-4
line at 150: 0
line at 1740: 1
=> verdict pass
