# A queue breaks what all promise. It loses a job, does one twice, does one that was rolled back,
# deletes one, and leaves a process behind.
set collector.subject=queue
set collector.layout=foreign
set collector.promises=[no_loss, once, reconnect]
process 0 exit 0 litters 10500
token 0 at 50
line at 52: 0
line at 90: 0
token 1-2 at 1000
line at 1001: 1
token 3 at 2000 rollback
line at 2001: 3
row 0 gone
=> lost 1, duplicated 1, phantom 1, vanished 1, litters 1
