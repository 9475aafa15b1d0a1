# The first line of a process.
token 0 at 50
line at 60: 0
=> verdict pass
