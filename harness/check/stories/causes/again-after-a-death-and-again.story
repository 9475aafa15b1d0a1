# Again after a death, and again. The last line of a collector that died comes again, and then once
# more.
process 0 until 160 killed
process 1 from 260
token 0 at 50
line at 150: 0
line at 270: 0
line at 280: 0
=> duplicated 1
