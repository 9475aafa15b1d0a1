# A batch again, though it said that it was confirmed. The collector ends with 0, which says that
# all it wrote is confirmed.
process 0 until 160 exit 0 asked
process 1 from 260
token 0 at 50
line at 150: 0
line at 270: 0
=> duplicated 1
