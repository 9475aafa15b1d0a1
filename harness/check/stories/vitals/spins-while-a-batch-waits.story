# Spins while a batch waits. A token waits for three seconds, which is the timeout. Meanwhile the
# collector uses a whole processor.
set collector.batch_timeout=3s
set load.0.rate=1/s
token 0 at 100
line at 3101: 0
repeat 8 every 500: sample at 0 rss 5000 cpu 500
=> busy_idle some
