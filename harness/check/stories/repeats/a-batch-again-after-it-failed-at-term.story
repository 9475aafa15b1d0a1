# A batch again after it failed at TERM. TERM comes at 900 ms, and the server goes away before the
# collector could confirm its line. It ends with 70, which says that it failed, and its next process
# sends the line again.
session at -990
process 0 until 1000 exit 70 asked
process 1 from 1200
token 0 at 800
line by 0 at 890: 0
fault {do: stop-collector} struck 900 undone 1000
fault {do: crash-server} struck 950 undone 1150
session at 1250
line by 1 at 1300: 0
=> verdict pass
