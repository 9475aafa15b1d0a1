# Fails at TERM. TERM comes at 900 ms. The process ends at 1000 ms. 70 says that something inside of
# the collector failed.
process 0 until 1000 exit 70 asked
process 1 from 1100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 1000
=> unplanned_exit 1
