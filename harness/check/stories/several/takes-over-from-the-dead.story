# Takes over from the dead. The first collector is killed for good at 500 ms. The second one writes
# all later tokens.
set collector.instances=2
process 0 until 501 killed
process 1 instance 1
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, for: rest, instance: 0} struck 500 undone 501
repeat 6 every 100: token 1 at 600
repeat 6 every 1: line at 1900: 1
=> verdict pass
