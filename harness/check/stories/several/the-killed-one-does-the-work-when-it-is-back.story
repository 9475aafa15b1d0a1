# The killed one does the work when it is back. The first collector is killed for good at 500 ms.
# The second one writes all later tokens. The takeover is due at 2000 ms, which is the grace and one
# second after the death. Fresh tokens are due one second later. In this story they come at 4 s. The
# killed collector starts again after 3 s and does the work itself, which is no takeover.
set collector.instances=2
process 0 until 501 killed
process 1 instance 1
process 2 from 3500
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, for: 3s, instance: 0} struck 500 undone 3500
repeat 6 every 100: token 1 at 600
repeat 5 every 100: token 7 at 2300
session at 3600
repeat 11 every 1: line by 2 at 4000: 1
=> late 11, unrecovered 1, underfull some
