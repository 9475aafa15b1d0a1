# Holds mail when one query is cancelled. One query is cancelled. The collector writes two lines
# with fresh tokens, and then holds a token for 1.5 s.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: cancel-query} struck 500 undone 501
token 1 at 510
line at 612: 1
token 2 at 620
line at 722: 2
token 3 at 800
line at 2300: 3
=> late 1
