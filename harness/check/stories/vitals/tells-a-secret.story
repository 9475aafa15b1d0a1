# Tells a secret: that of one token of two.
run logs-read
token 0-1 at 50
line at 150: 0-1
row 1 told
=> tells_secrets 1, says "t0000001"
