# One session listens and is back 20 ms after the reset. Another confirms and is back 700 ms after
# it. The collector writes one line from memory, and the next when it can confirm that one.
session at -990
token 0 at 50
line at 150: 0
fault {do: reset} struck 1500 undone 1501
session at 1520
session at 2200
token 1 at 1510
line at 1620: 1
token 2 at 1640
line at 2205: 2
=> verdict pass, judged late 2 of 3 (return 1)
