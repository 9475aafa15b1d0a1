# A short line among full ones. It ends the chain of full lines, so what is behind it is late.
token 0-17 at 50
line at 100: 0-2
line at 140: 3-5
line at 180: 6-7
line at 220: 8-10
line at 260: 11-13
line at 300: 14-16
line at 301: 17
=> late some
