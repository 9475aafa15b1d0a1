# One of two could lease more. 60 tokens come at once, and the second collector delivers one each
# 100 ms. The first has written one line, or three. It may have three lines without an answer.
set collector.dequeue=leased
set collector.instances=2
set collector.batch_limit=1
set collector.env.MAILROOM_IN_FLIGHT=3
set collector.capacity=10/s
token 0-59 at 50
repeat 3 every 100: line by 0 at 60: 0 sent 61
repeat 57 every 100: line by 1 at 360: 3 sent 361
=> idle_instance 1
