# Sent, and tried again beside faults that are not its own. Allows three attempts, a delay of at
# most 200 ms before a retry, and a second for an answer. The answer that the token was sent got
# through, and yet the token comes again. An old snapshot harms nobody, and the other collector's
# death excuses nothing.
set collector.dequeue=leased
set collector.instances=2
set collector.env.MAILROOM_ATTEMPTS=3
set collector.env.MAILROOM_RETRY_BASE=100
set collector.env.MAILROOM_RETRY_MAX=200
set collector.env.MAILROOM_ANSWER_TIMEOUT=1000
session at -990
token 0 at 50
fault {do: old-snapshot} struck 100 undone 3000
line by 0 at 150: 0 sent 160
fault {do: kill-collector, instance: 1} struck 200 undone 210
line by 0 at 400: 0 sent 410
=> resurrected 1
