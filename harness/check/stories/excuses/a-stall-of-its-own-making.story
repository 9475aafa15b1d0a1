# A stall of its own making. The reader stands still for 60 ms, because the collector's own programs
# keep both processors busy.
session at -990
token 0 at 50
line at 150: 0
token 1 at 200
line at 400: 1
stall from 330 until 395
look at -1000
repeat 100 every 50: look at -950 own 98 ran 1
=> late 1
