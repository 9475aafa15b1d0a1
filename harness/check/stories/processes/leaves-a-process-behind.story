# Leaves a process behind, which still runs 1.5 s after the end.
process 0 until 1000 exit 0 asked litters 2500
process 1 from 1100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 1000
=> litters 1
