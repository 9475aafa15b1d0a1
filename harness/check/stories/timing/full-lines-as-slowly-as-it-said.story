# Full lines, as slowly as it said. Three tokens every 60 ms, which is the capacity that the
# scenario names.
set collector.capacity=50/s
token 0-8 at 50
repeat 3 every 60: line at 120: 0-2
=> verdict pass
