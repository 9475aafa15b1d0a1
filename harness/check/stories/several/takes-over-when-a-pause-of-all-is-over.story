# Takes over when a pause of all is over. The first collector is killed for good at 500 ms, while all
# are paused. The second one must work again at 4000 ms, and then has the time of a takeover: the
# grace and one second.
set collector.instances=2
process 0 until 501 killed
process 1 instance 1
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector} struck 400 undone 3000
fault {do: kill-collector, for: rest, instance: 0} struck 500 undone 501
token 1 at 3500
line by 1 at 4450: 1
=> verdict pass
