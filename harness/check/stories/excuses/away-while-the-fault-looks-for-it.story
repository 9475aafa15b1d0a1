# Away while the fault looks for it. The collector stays away for 1.95 s after each lost session.
# The second fault looks for a victim all that time, and strikes when there is one. Its search
# excuses nothing.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 300 undone 301
token 1 at 350
session at 2250
fault 0 planned 600 sought 600 struck 2252 undone 2253
session at 3700
line at 3710: 1
=> late 1
