# A count of a load that was not sent whole: one token never left the generator.
set expect.delivered== 2
token 0 at 50
line at 150: 0
token 1 due 100 unsent
=> verdict inconclusive
