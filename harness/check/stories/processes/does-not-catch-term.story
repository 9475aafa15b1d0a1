# Does not catch TERM. The process dies of it.
process 0 until 1000 signal 15
process 1 from 1100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 1000
=> verdict pass
