# Changes a column of its own, and one of others.
set collector.writes=[accounts.email]
token 0 at 50
line at 150: 0
row 0 changed accounts.email,tokens.expires_at
=> meddles 1, says "tokens.expires_at"
