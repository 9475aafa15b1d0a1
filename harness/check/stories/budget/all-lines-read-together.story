# All lines, read together. Nobody reads a line before 2551 ms.
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=3
session at -990
fault {do: pause-reader} struck 50 undone 2550
repeat 24 every 100: token 0 at 100
repeat 24: line at 2551: 0
=> verdict pass
