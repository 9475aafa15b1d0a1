# Lines that were read together. A line each 100 ms. The ten that come after 600 ms are read
# together at 1551 ms. The reader was paused.
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=3
session at -990
repeat 30 every 100: token 0 at 100
repeat 5 every 100: line at 201: 0
fault {do: pause-reader} struck 650 undone 1550
repeat 10: line at 1551: 5
repeat 15 every 100: line at 1701: 15
=> verdict pass
