# Expired long ago. Four lines, and the last one holds a token that expires after 3 s.
set slack=20s
token 0-3 at 500
line at 6100: 0
line at 6500: 1
line at 7000: 2
line at 8001: 3
row 3 expires 3000
=> ineligible 1
