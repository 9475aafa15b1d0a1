# Late, in a crowd of its own. The token is due at 351 ms, slack included, and read 59 ms later. The
# five steps from the sample at 200 ms to the one at 450 ms count, and in each the collector waits
# for a processor. The collector waits for processors that it keeps busy itself.
token 0 at 50
line at 150: 0
token 1 at 200
line at 410: 1
look at -1000
repeat 100 every 50: look at -950 waited 40 own 95 ran 1
=> late 1
