# Where nothing was slow. A full line takes the tokens of 200 ms. A timer that their announcement
# starts 20 ms later would send the last token in time, but each flush took 1 ms, so nothing held
# the announcement up.
token 0 at 50
line at 150: 0
token 1-3 at 200
line at 202: 1-3
token 4 at 300
line at 321: 4
repeat 20 every 100: flush at 0 took 1
=> early 1
