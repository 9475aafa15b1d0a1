# Held back, and overtaken by full lines. Collectors share the queue and write full lines all the
# time. The token of 100 ms comes last.
set collector.dequeue=shared
token 0 at 50
token 1 at 100
repeat 48 every 40: token 2-4 at 110
repeat 48 every 40: line at 140: 2-4
line at 150: 0
line at 2040: 1
=> late 1
