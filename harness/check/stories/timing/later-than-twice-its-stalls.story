# Later than twice its stalls. The harness stood still for 30 ms, and the token is late by 89.
token 0 at 50
line at 150: 0
token 1 at 200
stall from 210 until 240
line at 440: 1
=> late 1
