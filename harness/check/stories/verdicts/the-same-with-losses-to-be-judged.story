# The same, with losses to be judged.
set collector.restart=false
set expect.lost== 0
run gave-up "the collector ended"
process 0 until 1000 killed
token 0 at 50
line at 150: 0
token 1-2 at 200
row 0 waiting
=> verdict inconclusive
