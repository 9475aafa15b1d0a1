# Holds mail while another ones sender hangs. Two lease their tokens. All sessions end, and the
# sender of the second hangs. The first is back, writes five lines that are answered, and then holds
# a token for 1.2 s.
set collector.instances=2
set collector.dequeue=leased
set recovery_limit=5s
session at -990
token 0 at 50
line by 0 at 151: 0 sent 160
fault {do: terminate-backend} struck 500 undone 501
repeat 2 every 1: session at 520
fault {do: hang-sender, instance: 1} struck 600 undone 3800
repeat 6 every 150: token 1 at 620
repeat 6 every 150: line by 0 at 722: 1 sent 730
token 7 at 1600
line by 0 at 2900: 7 sent 2910
=> late 1
