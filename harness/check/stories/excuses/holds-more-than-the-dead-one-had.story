# Holds more than the dead one had. Two share the work, and one is killed. It had taken 48 tokens at
# most, of three a line. The other holds twice as many until the grace is over and the disk, which is
# slow for a moment, is well again.
set collector.instances=2
set collector.dequeue=shared
set postgres.storage=crashable
session at -990
process 0
process 1 instance 1 until 500 killed
token 0-95 at 480
fault {do: kill-collector, instance: 1, for: rest} struck 499 undone 500
fault {do: slow-disk, by: 5ms} struck 700 undone 1900
repeat 32 every 1 step 3: line by 0 at 1900: 0-2
=> late some
