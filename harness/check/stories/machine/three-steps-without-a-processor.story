# Three steps without a processor. The collector waits for a processor before its look, its flush
# and its write, each time for 24 ms, which is less than slack/2. Together they explain the wait.
token 0 at 50
line at 150: 0
look at -1000
repeat 100 every 50: look at -950
token 1 at 201
look at 225 waited 24 own 1 busy 50
look at 275 waited 24 own 1 busy 100
look at 325 waited 24 own 1 busy 100
line at 395: 1
=> verdict pass
