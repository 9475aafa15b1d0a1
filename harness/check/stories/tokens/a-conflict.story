# A conflict. The upsert finds the account already there, so it makes no token.
token 0 at 50
line at 150: 0
token 1 conflict at 250
row 1 gone
=> verdict pass
