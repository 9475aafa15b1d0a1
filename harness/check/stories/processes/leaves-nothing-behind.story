# Leaves nothing behind.
process 0 until 1000 exit 0 asked clean
process 1 from 1100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 1000
=> judged litters 1 of 1
