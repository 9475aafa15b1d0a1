# Barely early.
token 0 at 50
line at 150: 0
token 1 at 402
line at 500: 1
=> verdict pass
