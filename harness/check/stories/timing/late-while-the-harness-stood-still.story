# Late while the harness stood still.
token 0 at 50
line at 150: 0
token 1 at 200
line at 360: 1
probe at 201 stalled 60
=> verdict pass
