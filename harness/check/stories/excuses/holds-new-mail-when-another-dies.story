# Holds new mail when another dies. Two share the work, and one is killed for good. The other has
# nothing to adopt: it holds a token that came after the death for 1.4 s.
set collector.instances=2
set collector.dequeue=shared
session at -990
process 0
process 1 instance 1 until 500 killed
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, instance: 1, for: rest} struck 500 undone 501
token 1 at 600
line by 0 at 2000: 1
=> late 1
