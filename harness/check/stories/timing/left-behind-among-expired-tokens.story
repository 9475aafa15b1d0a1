# Left behind among expired tokens. Ten expired tokens wait. A look reads a bounded number of rows, so
# a short line says nothing.
repeat 100 every 100: flush at 10 took 1
token 0-9 expired at -500 backlog
token 10 at 50
line at 151: 10
repeat 12 every 20: token 11 at 1000
repeat 12 every 20: line at 1101: 11
=> verdict pass
