# Slowly back. The session is back 600 ms after the fault's end. The fault excuses this time and no
# more.
session at -990
token 0 at 50
line at 150: 0
token 1 at 190
fault {do: restart-server} struck 200 undone 300
session at 900
line at 910: 1
=> verdict pass
