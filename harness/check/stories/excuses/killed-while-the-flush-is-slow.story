# Killed while the flush is slow. A flush takes 100 ms. The answer came 70 ms before the kill, so
# its record may not have reached the disk.
set collector.dequeue=leased
session at -990
process 0 until 230 killed
process 1 from 330
token 0 at 50
line by 0 at 150: 0 sent 160
fault {do: kill-collector} struck 230 undone 231
repeat 30 every 100: flush at 0 took 100
session at 380
line by 1 at 1300: 0 sent 1310
=> verdict pass
