# Waits long for its retry. Nobody answers four attempts, and after each the collector waits twice
# as long as before. The fifth would come after the end.
set collector.dequeue=leased
set collector.env.MAILROOM_RETRY_BASE=500
set collector.env.MAILROOM_ANSWER_TIMEOUT=100
token 0 at 50
line at 150: 0 silent
line at 1000: 0 silent
line at 3000: 0 silent
line at 7000: 0 silent
row 0 unmarked
=> verdict inconclusive
