# Its sessions are busy while it is idle.
set load=[{for: 1s, rate: 1/s}, {for: 3s, rate: 0/s}]
token 0 at 50
line at 150: 0
repeat 8 every 500: sample at 0 cpu 10 wakeups 1
repeat 8 every 500: presence at 0 cpu 100
=> busy_idle 1, says "sessions use 20%"
