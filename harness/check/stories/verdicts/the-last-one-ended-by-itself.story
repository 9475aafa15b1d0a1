# The last one ended by itself.
set collector.restart=false
run gave-up "the collector ended"
process 0 until 1000 exit 1
token 0 at 50
line at 150: 0
token 1-2 at 200
=> lost 2, unplanned_exit 1
