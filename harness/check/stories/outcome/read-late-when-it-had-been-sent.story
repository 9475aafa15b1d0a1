# Read late, when it had been sent. Allows three attempts, a delay of at most 200 ms before a retry,
# and a second for an answer. The reader of the first of two collectors is paused, and the attempt
# in its pipe is given up. The other one tries the token, and then the pipe is read.
set collector.dequeue=leased
set collector.instances=2
set collector.batch_limit=1
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
session at -990
token 0 at 50
fault {do: pause-reader, instance: 0} struck 100 undone 1600
line by 1 at 1300: 0 sent 1310
line by 0 at 1601: 0 sent 1611
=> judged resurrected 1 of 2 (reader 1), judged double_leased 1 of 2 (reader 1), verdict pass
