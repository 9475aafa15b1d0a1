# The tail of a killed process.
process 0 until 150 killed
process 1 from 250
token 0 at 50
line at 150: 0
line at 150 tail
=> verdict pass
