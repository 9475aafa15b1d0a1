# Held back after a fault on all. All sessions end. The holder goes on at once and writes two lines
# with fresh tokens. Then it holds a token back.
set collector.instances=2
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: terminate-backend} struck 500 undone 501
repeat 2 every 1: session at 520
token 1 at 525
line by 0 at 626: 1
token 2 at 630
line by 0 at 731: 2
token 3 at 750
line by 0 at 1450: 3
=> late 1
