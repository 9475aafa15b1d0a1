# Full lines, but slowly.
token 0-8 at 50
repeat 3 every 60: line at 120: 0-2
=> late 3
