# Fails at TERM while the server goes away. TERM comes at 900 ms. The process ends at 1000 ms. 70
# says that something inside of the collector failed. While it ends, the server goes away.
process 0 until 1000 exit 70 asked
process 1 from 1100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 1000
fault {do: crash-server} struck 950 undone 1100
=> verdict pass
