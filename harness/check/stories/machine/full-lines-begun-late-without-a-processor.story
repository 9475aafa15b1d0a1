# Full lines, begun late without a processor. Nine full lines follow each other without a pause, and
# the first of them comes 59 ms too late.
token 0-26 at 200
repeat 9 every 40: line at 410: 0-2
look at -1000
repeat 28 every 50: look at -950 waited 15 own 1 ran 1
repeat 72 every 50: look at 450 own 1 ran 1
=> verdict pass
