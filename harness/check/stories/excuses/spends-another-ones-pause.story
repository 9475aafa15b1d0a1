# Spends another ones pause. Nobody reads the second of two collectors, and the first waits for a
# processor for 20 ms of each 50. Neither explains that the first sends twice what the budget
# allows.
set collector.dequeue=shared
set collector.instances=2
set collector.env.MAILROOM_BUDGET=10/s
set collector.env.MAILROOM_BURST=3
session at -990
fault {do: pause-reader, instance: 1} struck 500 undone 3500
repeat 40 every 50: token 0 at 1000
repeat 40 every 50: line by 0 at 1101: 0
look at -1000
repeat 100 every 50: look at -950 waited 20 own 1 ran 1
=> over_budget some
