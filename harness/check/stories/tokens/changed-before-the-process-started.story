# Changed before the process started. A token changes at 210 ms. The collector dies, and the first
# line of the next process holds the token.
process 0 until 205 killed
process 1 from 305
session at -990
token 0 at 50
line at 150: 0
token 1 at 200
fault {do: kill-collector} struck 205 undone 206
change 1 consume at 210
session at 325
line at 355: 1
=> ineligible 1
