# All answers are missing. One line may be without an answer. The sender takes 650 ms for it, so the
# next token waits.
set collector.dequeue=leased
set collector.env.MAILROOM_IN_FLIGHT=1
token 0 at 50
line at 151: 0 sent 800
token 1 at 200
line at 810: 1 sent 820
=> verdict pass
