# A stale timer. A full line takes all tokens that were announced long before, but does not stop their timer,
# which then sends the next token after 31 ms.
token 0 at 50
line at 150: 0
token 1-3 at 200
line at 230: 1-3
token 4 at 270
line at 301: 4
=> early 1
