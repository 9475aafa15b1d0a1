# A count that is not as expected.
set expect.delivered== 2
token 0 at 50
line at 150: 0
=> verdict violated
