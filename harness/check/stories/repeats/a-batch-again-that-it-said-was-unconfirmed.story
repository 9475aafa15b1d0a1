# A batch again that it said was unconfirmed.
process 0 until 160 exit 75 asked
process 1 from 260
token 0 at 50
line at 150: 0
line at 270: 0
=> verdict pass
