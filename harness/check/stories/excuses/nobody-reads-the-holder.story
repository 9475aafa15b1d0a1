# Nobody reads the holder. They take turns. Nobody reads the holder for longer than a takeover
# takes, but it lives and keeps its turn.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0 at 50
line by 0 at 150: 0
fault {do: pause-reader, instance: 0} struck 500 undone 3500
token 1 at 600
line by 0 at 3501: 1
=> verdict pass
