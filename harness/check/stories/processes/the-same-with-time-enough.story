# The same, with time enough. The collector is killed six times, every 300 ms. A fresh token comes
# out after the last kill.
process 0 until 200 killed
repeat 5 every 300: process 1 from 300 until 500 killed
process 6 from 1800
session at -990
token 0 at 50
line at 150: 0
repeat 6 every 300: fault {do: kill-collector} struck 200
token 1 at 210
repeat 6 every 300: session at 310
line at 1960: 1
=> late 1, unrecovered 1
