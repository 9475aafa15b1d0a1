# Before the acknowledgement.
token 0 at 50
line at 150: 0
token 1 at 250 ack 451
line at 350: 1
=> verdict pass
