# Leaves a process behind while another is killed. The first of two collectors ends at TERM. The
# second is killed a moment before. That does not explain why a program of the first still runs.
set collector.instances=2
session at -990
process 0 until 950 exit 0 asked litters 2500
process 1 instance 1 until 880 killed
process 2 from 1050
process 3 instance 1 from 980
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector, instance: 1} struck 879 undone 880
fault {do: stop-collector, instance: 0} struck 900 undone 950
=> litters 1
