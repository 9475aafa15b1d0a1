# Late at a server that is slow for others, too. The server is back and the collector has its
# session, so the token is due at 381 ms. The probe connects at once, but another client's
# transaction takes 300 ms.
session at -990
token 0 at 50
line at 150: 0
fault {do: kill-server} struck 190 undone 200
session at 210
token 1 at 230
token 2 at 240 commit 539
line at 640: 1
line at 660: 2
probe at 150 stalled 59 took never
=> verdict pass
