# Leaves what a fault left. A fault of 2 s. Afterwards each token that waits takes a while.
set collector.batch_limit=1
set collector.capacity=60/s
set load.0.rate=20/s
set slack=100ms
session at -990
repeat 80 every 50: token 0 at 50
line at 60: 0
fault {do: pause-server} struck 100 undone 2100
repeat 79 every 98: line at 2110: 1
=> falls_behind 1
