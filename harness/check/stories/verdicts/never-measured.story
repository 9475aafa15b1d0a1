# Never measured.
set expect.recovery.max=< 1ms
token 0 at 50
line at 150: 0
=> verdict inconclusive
