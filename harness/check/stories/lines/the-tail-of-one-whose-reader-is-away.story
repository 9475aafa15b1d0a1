# The tail of one whose reader is away. The process is asked to end at 150 ms, and ends by itself in
# the middle of a line.
process 0 until 150 exit 75 asked
process 1 from 250
token 0 at 50
fault {do: pause-reader} struck 140 undone 160
line at 150: 0
line at 150 tail
=> verdict pass
