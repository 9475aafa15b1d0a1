# Half the timeout in each lane. The collector waits for half of the timeout, and then writes a line
# for each lane. Both lines are early.
set collector.dequeue=shared
set collector.env.MAILROOM_LANES=password_recovery,activation
token 0 recovery at 50
line at 150: 0
token 1 recovery at 1000
token 2 at 1040
line at 1050: 1
line at 1052: 2
=> early 2
