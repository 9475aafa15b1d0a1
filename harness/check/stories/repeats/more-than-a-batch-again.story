# More than a batch again.
process 0 until 160 killed
process 1 from 260
token 0-2 at 150
token 3-5 at 150
line at 150: 0-2
line at 151: 3-5
line at 270: 0-2
line at 271: 3
=> duplicated 3
