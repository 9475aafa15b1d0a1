# Records an answer late. The sender answered 440 ms before the collector was killed. Nothing but
# the collector kept the answer from being recorded, and the token is tried again.
set collector.dequeue=leased
session at -990
process 0 until 600 killed
process 1 from 700
token 0 at 50
line by 0 at 150: 0 sent 160
fault {do: kill-collector} struck 600 undone 601
session at 750
line by 1 at 1300: 0 sent 1310
=> resurrected 1
