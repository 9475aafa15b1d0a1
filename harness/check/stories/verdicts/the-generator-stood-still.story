# The generator stood still.
load stalled 2000
token 0 at 50
line at 150: 0
=> verdict inconclusive
