# Settled in an earlier segment. A token comes again that an earlier segment of a soak has settled.
token 0 at 50
line at 150: 0 strange earlier
=> duplicated 1, says "read at 0.150 s: a token that was settled in an earlier segment"
