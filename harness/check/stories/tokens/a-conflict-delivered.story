# A conflict, delivered. The upsert finds the account already there, so it makes no token.
token 0 at 50
line at 150: 0
token 1 conflict at 250
line at 350: 1
row 1 gone
=> phantom 1
