# What waits when the collector starts is out before the load begins, and only the load is judged. The
# processors were watched meanwhile, and take no time off a wait that was none.
set collector.batch_limit=1
set collector.batch_timeout=1s
repeat 10: token 0 at -450
repeat 10 every 1: line at -263: 0
look at -1000
repeat 100 every 50: look at -950 waited 40 busy 50
token 10 at 50
line at 52: 10
=> late 0
