# Consumed by the plan while it waited. The change may be lost, so both contents are right.
token 0 at 50
line at 150: 0
token 1 at 200
line at 300: 1
change 1 consume at 310
row 1 changed tokens.consumed_at
=> judged meddles 1 of 2
