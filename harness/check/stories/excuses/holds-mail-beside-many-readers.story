# Holds mail beside many readers. Four sessions read the tables without a pause, which slows the
# collector at most. It holds a token for two seconds.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: active-readers} struck 500 undone 3900
token 1 at 1000
line at 3000: 1
=> late 1
