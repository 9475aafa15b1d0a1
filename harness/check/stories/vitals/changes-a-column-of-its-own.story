# Changes a column of its own, and says so.
set collector.writes=[accounts.email]
token 0 at 50
line at 150: 0
row 0 changed accounts.email
=> verdict pass
