# Woken by what a delay had put on its way. The delay ends at 2000 ms, in the middle of the rest. What
# it held up may arrive for one second more, and wakes the collector.
set load=[{for: 1s, rate: 1/s}, {for: 3s, rate: 0/s}]
session at -990
token 0 at 50
line at 150: 0
fault {do: delay, by: 1s} struck 800 undone 2000
sample at 0
sample at 2000 wakeups 5
sample at 2500 wakeups 40
repeat 3 every 500: sample at 3000 wakeups 1
=> verdict pass
