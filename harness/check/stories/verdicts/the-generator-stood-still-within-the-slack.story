# The generator stood still within the slack.
set slack=3s
load stalled 2000
token 0 at 50
line at 150: 0
=> verdict pass
