# A torn line among full ones. It may have been full, so it does not end the chain of full lines, and
# nothing behind it is late.
token 0-17 at 50
line at 100: 0-2
line at 140: 3-5
line at 180 torn: 6 named 7 named 8 named
line at 220: 9-11
line at 260: 12-14
line at 300: 15-17
=> torn 1
