# Changed after the process started. A token changes at 210 ms. The collector dies, and the first
# line of the next process holds the token.
process 0 until 105 killed
process 1 from 205
session at -990
token 0 at 50
fault {do: kill-collector} struck 105 undone 106
line by 0 at 150: 0
token 1 at 200
change 1 consume at 210
session at 225
line at 255: 1
=> verdict pass
