# Holds mail beside a slow reader. The reader takes 20 kB/s, which is a line in 20 ms, and finds the
# pipe empty again and again. The collector holds a token for two seconds.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: slow-reader, rate: 20kB/s} struck 500 undone 3900
token 1 at 1000
line at 3000 empty 2990: 1
=> late 1
