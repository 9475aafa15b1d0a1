# Sends what was consumed when it is back. A token was consumed a second before the collector's
# session ended. The collector sends it in its second line after the return, because it asked
# nobody.
session at -990
token 0 at 50
line at 150: 0
token 1 at 200
change 1 consume at 210
token 2 at 300
line at 402: 2
token 3 at 500
line at 602: 3
fault {do: reset} struck 1200 undone 1201
session at 1220
token 4 at 1205
line at 1225: 4
line at 1330: 1
=> ineligible 1
