# Paid for before a pause. The collector is paused with a full line in hand, and writes it when it
# goes on. The budget has been filled again meanwhile, if the pause was long enough.
set collector.env.MAILROOM_BUDGET=5/s
set collector.env.MAILROOM_BURST=3
session at -990
token 0-2 at 400
fault {do: pause-collector} struck 450 undone 1500
token 3-5 at 1400
line at 1510: 0-2
line at 1530: 3-5
=> verdict pass
