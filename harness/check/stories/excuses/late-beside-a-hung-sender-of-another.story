# Late beside a hung sender of another. Two lease their tokens. The sender of the second hangs. The
# first one's sender answers at once, and it holds a token for 1.2 s.
set collector.instances=2
set collector.dequeue=leased
set recovery_limit=5s
session at -990
token 0 at 50
line by 0 at 150: 0 sent 160
fault {do: hang-sender, instance: 1} struck 500 undone 3500
token 1 at 800
line by 0 at 2000: 1 sent 2010
=> late 1
