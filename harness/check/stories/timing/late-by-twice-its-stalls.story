# Late by twice its stalls. The harness stood still for 30 ms, and the token is late by 54. A stall
# may delay two steps of a token's way.
token 0 at 50
line at 150: 0
token 1 at 200
stall from 210 until 240
line at 405: 1
=> verdict pass
