# Held back while sessions are ended all the time. The session ends every 300 ms and is back after
# 20 ms. Tokens that are committed meanwhile come later.
set collector.returns_within=30ms
session at -990
token 0 at 50
line at 150: 0
repeat 9 every 300: fault {do: terminate-backend} struck 400 undone 402
repeat 9 every 300: session at 420
repeat 6 every 300: token 1 at 450
repeat 6 every 300: line at 1151: 1
=> late 6
