# Tries again when a session ends later. The sender answered 700 ms before the session ended. The
# answer had time to be recorded, and the token is tried again.
set collector.dequeue=leased
session at -990
token 0 at 50
line at 150: 0 sent 160
fault {do: terminate-backend} struck 860 undone 861
session at 900
line at 1300: 0 sent 1310
=> resurrected 1
