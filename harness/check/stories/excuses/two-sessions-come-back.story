# Two sessions come back. One session listens, and is back at once. Another confirms, and is back
# 680 ms later. One line goes out before that, from memory.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: reset} struck 1500 undone 1501
session at 1520
token 1 at 1518
line at 1620: 1
token 2 at 1640
session at 2200
line at 2205: 2
=> verdict pass
