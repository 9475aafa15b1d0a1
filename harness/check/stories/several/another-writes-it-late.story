# Another writes it late. Six batches at once. The second collector is paused while it has the last
# of them. Others may take what it had over when its lease is over, a second later, and the grace
# have passed. The first collector needs longer than that.
set collector.dequeue=shared
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0-17 at 50
repeat 3 every 80 step 6: line by 0 at 80: 0-2
line by 1 at 120: 3-5
line by 1 at 200: 9-11
fault {do: pause-collector, instance: 1} struck 250 undone 3500
line by 0 at 3010: 15-17
=> late 3
