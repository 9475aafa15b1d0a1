# Holds a transaction while it is paused, and ends it then.
token 0 at 50
line at 150: 0
repeat 6 every 1000: presence at 0
fault {do: pause-collector, for: 2s} struck 1100 undone 3100
hold from 1000 until 3000
=> verdict pass
