# Its runtime takes a while to start. The collector is killed. Its next process needs 300 ms before it
# does anything, and then sends at once what waits.
session at -990
process 0 until 900 killed
process 1 from 1000
token 0 at 50
line by 0 at 150: 0
fault {do: kill-collector} struck 899 undone 1000
token 1 at 950
session at 1310
line by 1 at 1330: 1
token 2 at 1400
line by 1 at 1502: 2
=> verdict pass
