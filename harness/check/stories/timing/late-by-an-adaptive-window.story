# Late, by an adaptive window.
set collector.adaptive_from=20ms
token 0 at 50
line at 150: 0
token 1 at 200
line at 900: 1
=> late 1
