# The first of three tokens starts the timer at 301 ms, and a full line takes them at 335 ms. The
# timer goes on, and the next token leaves after 40 ms.
token 0 at 50
line at 150: 0
token 1 at 300
token 2 at 310
token 3 at 330
line at 335: 1-3
token 4 at 360
line at 401: 4
=> early 1
