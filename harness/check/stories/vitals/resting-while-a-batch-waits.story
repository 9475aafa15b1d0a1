# Resting while a batch waits. It is busy before that, when it has something to do.
set collector.batch_timeout=3s
token 0 at 500
line at 3400: 0
sample at 0
sample at 500 cpu 400
repeat 6 every 500: sample at 1000 cpu 5
=> verdict pass
