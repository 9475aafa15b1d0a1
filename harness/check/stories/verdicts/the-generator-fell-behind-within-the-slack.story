# The generator fell behind within the slack. The token was planned for 0 s and inserted half a
# second later.
set slack=3s
token 0 due 0 at 500
line at 600: 0
=> verdict pass
