# The rest of a large transaction. Four tokens come at once. The fourth waits for the timeout after
# its own announcement, which came before the full line.
token 0 at 50
line at 150: 0
token 1-4 at 300
line at 301: 1-3
line at 401: 4
=> verdict pass
