# Late while nobody could connect to the new server. The server is back and the collector has its
# session, so the token is due at 381 ms.
session at -990
token 0 at 50
line at 150: 0
fault {do: kill-server} struck 190 undone 200
session at 210
token 1 at 230
line at 640: 1
probe at 150 stalled 400 took never
=> verdict pass
