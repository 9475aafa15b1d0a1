# Late before the reader is slow. The token waits from 101 ms on, and the reader becomes slow at
# 500 ms. Until then it would have read the line at once, although nothing had come since 100 ms.
token 0 at 50
line at 90: 0
token 1 at 100
fault {do: slow-reader, rate: 1kB/s} struck 500 undone 800
line at 510 empty 95: 1
=> late 1
