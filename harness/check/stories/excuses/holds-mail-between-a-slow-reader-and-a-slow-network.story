# Holds mail between a slow reader and a slow network. A line passes the reader in 20 ms and the
# network in 20 ms. The collector writes one line after the other, and holds one token for two
# seconds.
set recovery_limit=5s
set collector.promises=[no_loss, once, limit, timeout, reconnect, backpressure, stop, dead_letters]
session at -990
token 0 at 50
line at 150: 0
fault {do: slow-reader, rate: 20kB/s} struck 500 undone 3900
fault {do: throttle, rate: 100kB/s} struck 510 undone 3890
token 1 at 1000
repeat 9 every 200: token 2 at 1100
repeat 9 every 200: line at 1230 empty 1225: 2
line at 3000 empty 2990: 1
=> late 1
