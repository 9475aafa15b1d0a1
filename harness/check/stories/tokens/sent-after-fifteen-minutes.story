# Sent after fifteen minutes. The token waits behind others, and goes out ten seconds after it
# expired.
set load.0.for=20m
set drain=1m
set collector.promises=[no_loss, once]
run until 1210000
token 0-4 at 100
line at 890000: 0
line at 903500: 1
line at 904000: 2
line at 905000: 3
line at 910000: 4
row 4 expires 900100
=> ineligible 1
