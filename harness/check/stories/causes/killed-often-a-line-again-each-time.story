# Killed often, a line again each time. The collector is killed five times, each time with a line
# that comes again. Each death explains its line.
process 0 until 302 killed
repeat 4 every 400: process 1 from 402 until 702 killed
process 5 from 2002
token 0 at 50
line at 150: 0
repeat 5 every 400: token 1 at 200
repeat 5 every 400: line at 301: 1
repeat 5 every 400: fault {do: kill-collector} struck 302
repeat 5 every 400: line at 450: 1
=> verdict pass
