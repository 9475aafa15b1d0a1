# Changed too late to be passed. The token had enough time to be delivered before it changed, so it
# is lost.
token 0 at 50
line at 150: 0
token 1 at 200
change 1 consume at 3000
=> lost 1
