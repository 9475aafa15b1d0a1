# Consumes what it has sent.
token 0 at 50
line at 150: 0
row 0 changed tokens.consumed_at,accounts.status,accounts.activated_at
=> meddles 1, says "accounts.status is not as it was inserted"
