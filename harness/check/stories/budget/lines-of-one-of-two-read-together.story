# Lines of one of two, read together. Two share the budget, and write a line each 100 ms in turns.
# The reader of the second is paused.
set collector.dequeue=shared
set collector.instances=2
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=3
session at -990
repeat 12 every 200: token 0 at 100
repeat 12 every 200: token 12 at 200
repeat 12 every 200: line by 0 at 201: 0
fault {do: pause-reader, instance: 1} struck 250 undone 2550
repeat 12: line by 1 at 2551: 12
=> verdict pass
