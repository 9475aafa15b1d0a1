# Early behind a line. An announcement at 120 ms names a token that is not eligible. The line at 300
# ms is in time only if that announcement opened its window. That needs a collector whose line of
# 240 ms held the result of a look before 120 ms.
token 0 at 50
token 1 at 110
token 2 expired at 120
line at 150: 0
line at 240: 1
token 3 at 250
line at 300: 3
repeat 8 every 500: sample at 0 rss 5000
=> early 1
