# Good.
token 0 at 50
line at 150: 0
=> verdict pass
