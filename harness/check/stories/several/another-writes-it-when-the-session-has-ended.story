# Another writes it, when the session has ended. Six batches at once. The second collector is paused
# while it has the last of them. A fault ends the paused collector's session, so the first collector
# writes the tokens that the paused one had.
set collector.dequeue=shared
set collector.instances=2
session at -990
token 0-17 at 50
repeat 3 every 80 step 6: line by 0 at 80: 0-2
line by 1 at 120: 3-5
line by 1 at 200: 9-11
fault {do: pause-collector, instance: 1} struck 250 undone 3500
fault {do: terminate-backend} struck 2500 undone 2501
session at 2520
line by 0 at 3010: 15-17
=> verdict pass
