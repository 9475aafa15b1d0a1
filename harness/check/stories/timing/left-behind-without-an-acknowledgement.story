# Left behind without an acknowledgement. Nobody knows whether token 2 was committed when the line was
# taken that left it behind.
repeat 100 every 100: flush at 10 took 1
token 0 at 50
line at 151: 0
token 1 at 1000
token 2 at 1000 ack 1300
line at 1103: 1
line at 1204: 2
=> judged underfull 2 of 2, verdict pass
