# A stale timer among full lines. The first of three tokens starts a timer at 241 ms, and a full line
# takes them at 272 ms. The timer goes on and sends the next token at 341 ms. No other timer fires
# then: that of the full line before would have to be announced 40 ms late.
token 0 at 50
line at 150: 0
token 1-3 at 200
line at 202: 1-3
token 4 at 240
token 5 at 250
token 6 at 270
line at 272: 4-6
token 7 at 300
line at 341: 7
=> early 1
