# Late in a watched crowd. Programs that do not belong to the run use nine tenths of the processors.
# The slack is measured. Others use all processors; the collector and the load had one whenever they
# were ready.
set slack=auto
run others 90%
token 0 at 50
line at 150: 0
token 1 at 200
line at 900: 1
look at -1000
repeat 100 every 50: look at -950 own 1 load 1 ran 10
=> late 1
