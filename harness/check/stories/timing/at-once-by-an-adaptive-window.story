# At once, by an adaptive window. An adaptive window may fire at once, so its lines are never early.
# They can be late.
set collector.adaptive_from=20ms
token 0 at 50
line at 150: 0
token 1 at 200
line at 250: 1
=> verdict pass
