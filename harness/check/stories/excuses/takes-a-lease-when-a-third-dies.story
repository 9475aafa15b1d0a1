# Takes a lease when a third dies. The first of three awaits the answer for its line, and nothing
# disturbs it. The second is killed. The third writes the first one's token again.
set collector.instances=3
set collector.dequeue=leased
session at -990
process 0
process 1 instance 1 until 300 killed
process 2 instance 2
process 3 instance 1 from 400
token 0 at 50
line by 0 at 151: 0 sent 2000
fault {do: kill-collector, instance: 1} struck 299 undone 300
line by 2 at 900: 0 sent 2010
=> double_leased some
