# Drained, and silent at the end. The last full line came more than 2T + 1 s before the end of the
# drain.
token 0 at 50
line at 150: 0
token 1-2 at 200
token 3-5 at 7499
line at 7500: 3-5
=> lost 2
