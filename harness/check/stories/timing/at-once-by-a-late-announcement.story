# A late announcement. A full line takes the tokens of 200 ms. Their announcement comes 20 ms later
# and starts a timer, which sends the next token. Each flush took 10 ms, and while the session waits
# for one, its announcements wait, too.
token 0 at 50
line at 150: 0
token 1-3 at 200
line at 202: 1-3
token 4 at 300
line at 321: 4
repeat 20 every 100: flush at 0 took 10
=> early 0
