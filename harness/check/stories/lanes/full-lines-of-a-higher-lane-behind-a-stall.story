# Full lines of a higher lane behind a stall. Recoveries go first, and lines have one token. From 60
# to 300 ms the reader stands still. Then a recovery comes every 20 ms and goes out at once, and
# the activation of 50 ms waits until none is left. Only the time before the first of these lines
# needs an excuse.
set collector.batch_limit=1
set collector.env.MAILROOM_LANES=password_recovery,activation
set collector.env.MAILROOM_AGEING=60000
token 0 at 50
repeat 26 every 20: token 1 recovery at 280
repeat 26 every 20: line at 300: 1
line at 820: 0
stall from 60 until 300
=> verdict pass
