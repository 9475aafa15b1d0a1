# Leaves a process behind, beside a fault that may have kept it from cleaning up.
process 0 until 1000 exit 0 asked litters 2500
process 1 from 1100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 1000
fault {do: pause-collector} struck 2000 undone 2100
=> judged litters 0 of 1
