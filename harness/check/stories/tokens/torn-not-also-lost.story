# Torn, not also lost.
token 0 at 50
line at 150: 0
token 1 at 250
line at 350 torn: 1 named
=> torn 1
