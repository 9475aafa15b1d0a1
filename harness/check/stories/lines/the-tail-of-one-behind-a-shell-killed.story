# The tail of one behind a shell, killed. The process is asked to end at 150 ms, and ends by itself
# in the middle of a line. A shell that started the process returns 128 plus the signal.
process 0 until 150 exit 143 asked
process 1 from 250
token 0 at 50
line at 150: 0
line at 150 tail
=> verdict pass
