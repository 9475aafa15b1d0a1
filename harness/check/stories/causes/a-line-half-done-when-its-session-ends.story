# A line half done when its session ends. The session ends before the line is written. The collector
# is back 200 ms later and writes this line, and the next one behind it.
session at -990
token 0 at 50
line at 150: 0
token 1 at 900
fault {do: terminate-backend} struck 1000 undone 1001
token 2 at 1005
session at 1200
line at 1230: 1
line at 1260: 2
=> verdict pass
