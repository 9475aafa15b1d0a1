# The generator fell behind. The token was planned for 0 s and inserted half a second later.
token 0 due 0 at 500
line at 600: 0
=> verdict inconclusive
