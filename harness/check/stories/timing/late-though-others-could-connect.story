# Late, though others could connect. The server is back and the collector has its session, so the
# token is due at 381 ms. The probe waited for the server no longer than the collector did, so it
# excuses nothing.
set collector.returns_within=50ms
session at -990
token 0 at 50
line at 150: 0
fault {do: kill-server} struck 190 undone 200
session at 210
token 1 at 230
line at 640: 1
probe at 150 stalled 59 took never
=> late 1
