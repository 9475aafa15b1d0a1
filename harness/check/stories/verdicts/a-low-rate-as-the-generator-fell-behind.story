# A rate that is too low for the generator's lag. It sends the last of two tokens two seconds late,
# a second after the load.
set load.0.for=1s
set slack=3s
set expect.rate.delivered=>= 2/s
token 0 at 50
line at 150: 0
token 1 due 900 at 2900
line at 3000: 1
=> verdict inconclusive
