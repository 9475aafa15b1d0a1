# Sharers without a window. Two collectors share the work. Each token leaves as soon as it comes,
# alone.
set collector.dequeue=shared
set collector.instances=2
session at -990
repeat 10 every 300: token 0 at 500
repeat 5 every 600 step 2: line by 0 at 503: 0
repeat 5 every 600 step 2: line by 1 at 803: 1
=> early some
