# The hung one goes on. The holder is paused for a second, comes back and goes on. No other ever
# wrote a line. A second later it holds a token back.
set collector.instances=2
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-collector, instance: 0} struck 500 undone 1500
token 1 at 1510
line by 0 at 1612: 1
token 2 at 1620
line by 0 at 1721: 2
token 3 at 2800
line by 0 at 3700: 3
=> late 1
