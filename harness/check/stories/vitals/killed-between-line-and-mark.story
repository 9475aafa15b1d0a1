# Killed between line and mark. The collector was killed before it could mark its line as written.
set collector.dequeue=shared
process 0 until 151 killed
process 1 from 251
token 0 at 50
line at 150: 0
fault {do: kill-collector} struck 151
row 0 unmarked
=> verdict pass
