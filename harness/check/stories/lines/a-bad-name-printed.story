# A bad name, printed. The line prints a name as it is that the wire cannot carry.
token 0 at 50
line at 150: 0
token 1 bad-name at 250
line at 350: 1 forged
=> forged 1
