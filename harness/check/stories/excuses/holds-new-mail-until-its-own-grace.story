# Holds new mail until its own grace. The only collector of a shared queue was killed. Its next
# process waits for the grace before it takes what the dead one had. It also holds a token that came
# after the kill, for longer than that.
set collector.dequeue=shared
set recovery_limit=5s
session at -990
process 0 until 401 killed
process 1 from 501
token 0-2 at 380
fault {do: kill-collector} struck 400 undone 401
session at 520
token 3-5 at 600
line by 1 at 620: 3-5
line by 1 at 1030: 0-2
token 6 at 1040
line by 1 at 1142: 6
token 7 at 1150
line by 1 at 1850: 7
=> late 1
