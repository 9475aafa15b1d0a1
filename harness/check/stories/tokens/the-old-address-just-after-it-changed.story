# The old address just after it changed. The line was taken before the account got another one.
token 0 at 50
change 0 email at 140
line at 151: 0 old-name
=> verdict pass
