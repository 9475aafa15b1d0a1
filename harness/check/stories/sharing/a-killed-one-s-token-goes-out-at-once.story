# A killed one's token goes out at once. It had waited for 20 ms when the one that had it was killed,
# and the other finds it 40 ms later: nobody knows when its window was opened.
set collector.instances=2
set collector.dequeue=shared
process 0 instance 0 from -1000
process 1 instance 1 from -1000 until 1400 killed
token 0 at 1200
line by 0 at 1301: 0
token 1 at 1380
fault {do: kill-collector, instance: 1, for: rest} struck 1399 undone 1400
line by 0 at 1440: 1
=> verdict pass, judged early 0 of 1 (adoption 1)
