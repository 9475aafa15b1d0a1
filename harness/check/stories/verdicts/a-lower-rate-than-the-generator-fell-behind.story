# A rate that is lower than the generator's lag explains. It sends the last of two tokens two seconds
# late, and the collector takes 2.6 s more.
set load.0.for=1s
set slack=3s
set expect.rate.delivered=>= 2/s
token 0 at 50
line at 150: 0
token 1 due 900 at 2900
line at 5500: 1
=> verdict missed
