# Does not catch term and sends again. TERM ends a collector that does not catch it, 5 ms after its
# line. It promised at least once, and the next process sends the line again.
session at -990
process 0 until 905 signal 15
process 1 from 1005
token 0 at 800
line by 0 at 901: 0
fault {do: stop-collector} struck 904 undone 905
session at 1050
line by 1 at 1100: 0
=> verdict pass
