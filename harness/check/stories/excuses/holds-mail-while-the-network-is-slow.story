# Holds mail while the network is slow. Each byte takes 30 ms longer for three seconds. A token that
# waits for two of them waits for the collector.
set recovery_limit=5s
session at -990
token 0 at 50
line at 150: 0
fault {do: delay, by: 30ms} struck 800 undone 3900
token 1 at 1000
line at 3000: 1
=> late 1
