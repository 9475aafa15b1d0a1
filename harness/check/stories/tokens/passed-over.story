# Passed over.
token 0 at 50
line at 150: 0
token 1 expired at 250
=> verdict pass
