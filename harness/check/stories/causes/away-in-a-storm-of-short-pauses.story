# Away in a storm of short pauses. The collector stays away during a storm of short pauses, and is
# back at its end. Each pause comes before it must have noticed that the one before is over.
set load.0.for=7s
load until 4000
run until 10000
session at -990
token 0 at 50
line at 150: 0
repeat 12 every 500: fault {do: pause-server} struck 200 undone 300
token 1 at 350
session at 5850
line at 5860: 1
=> unrecovered 1
