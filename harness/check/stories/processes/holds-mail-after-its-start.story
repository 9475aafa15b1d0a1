# Holds mail after its start. The collector is killed. Its next process has half a second until it
# must work, and needs a whole one.
session at -990
process 0 until 900 killed
process 1 from 1000
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector} struck 899 undone 1000
token 1 at 950
session at 1020
line by 1 at 2000: 1
=> late 1
