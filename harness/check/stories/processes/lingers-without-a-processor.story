# Lingers without a processor. TERM comes at 900 ms, and the process ends 50 ms beyond its second and
# the slack. It waited for a quarter of that time, while others had the processors.
process 0 until 2000 exit 0 asked
process 1 from 2100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 2000
look at -1000
repeat 100 every 50: look at -950 waited 12 own 1 ran 10
=> verdict pass
