# Out of order.
token 0-1 at 50
token 2 at 60
line at 60: 1
line at 150: 2
line at 150: 0
=> out_of_order 1
