# Never attempted.
token 0 at 50
line at 150: 0
line at 150: strange
=> phantom 1
