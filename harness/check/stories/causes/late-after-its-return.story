# Late after its return. The fault excuses the time that a return may take behind a server that was
# away, and no more.
set collector.returns_within=300ms
session at -990
token 0 at 50
line at 150: 0
token 1 at 190
fault {do: restart-server} struck 200 undone 300
session at 900
line at 1110: 1
=> late 1
