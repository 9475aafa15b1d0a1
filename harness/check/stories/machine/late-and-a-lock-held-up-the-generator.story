# Late, and a lock held up the generator. The generator is 500 ms late with an insert. In each 50 ms
# the load's backends run for 10 ms and wait for a processor. The load's backends hardly wait for a
# processor, so something else delays the generator: a lock, maybe the collector's.
set slack=auto
token 0 at 50
line at 150: 0
token 1 due 0 at 500
line at 900: 1
look at -1000
repeat 100 every 50: look at -950 own 1 load 1 ran 10
probe at 501
=> late 1
