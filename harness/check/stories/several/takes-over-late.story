# Takes over late. The first collector is killed for good at 500 ms. The second one writes all later
# tokens. The takeover is due at 2000 ms, which is the grace and one second after the death. Fresh
# tokens are due one second later. In this story they come at 4 s.
set collector.instances=2
process 0 until 501 killed
process 1 instance 1
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, for: rest, instance: 0} struck 500 undone 501
repeat 6 every 100: token 1 at 600
repeat 5 every 100: token 7 at 2300
repeat 11 every 1: line at 4000: 1
=> late 11, unrecovered 1, underfull some
