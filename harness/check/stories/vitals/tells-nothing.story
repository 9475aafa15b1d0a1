# Tells nothing.
run logs-read
token 0 at 50
line at 150: 0
=> judged tells_secrets 2 of 2
