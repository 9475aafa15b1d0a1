# Made to expire by the collector. Only the collector can have made this token expire after 1 s.
token 0 at 50
token 1 at 100
line at 150: 0
row 1 expires 1000
=> lost 1
