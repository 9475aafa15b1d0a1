# Expired while it lay unread. Four lines, and the last one holds a token that expires after 3 s.
# All four were written in time, and lay unread until 8 s.
session at -990
fault {do: pause-reader} struck 490 undone 8000
token 0-3 at 500
repeat 4: line at 8001: 0
row 3 expires 3000
=> verdict pass
