# Half the timeout beside its own sessions. It waits for half of the timeout. It opens a session
# every 80 ms, though nothing ended the one before.
session at -990
repeat 40 every 80: session at 0
token 0 at 50
line at 150: 0
token 1 at 1000
line at 1050: 1
=> early 1
