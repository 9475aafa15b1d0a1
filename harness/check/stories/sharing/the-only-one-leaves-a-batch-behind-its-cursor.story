# The only one leaves a batch behind its cursor. The only collector is killed at 400 ms, while it
# has a full batch. Its next process is another collector, and waits for the grace before it writes
# that batch. In cursor mode there is nothing to wait for.
process 0 until 401 killed
process 1 from 501
session at -990
token 0-2 at 380
fault {do: kill-collector} struck 400 undone 401
session at 520
token 3-5 at 600
line at 620: 3-5
line at 1030: 0-2
=> out_of_order 3
