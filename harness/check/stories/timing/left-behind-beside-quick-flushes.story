# Left behind beside quick flushes. A flush takes a millisecond. The tokens were there long before the
# lines in which they are not.
set collector.batch_limit=10
set collector.batch_timeout=220ms
repeat 100 every 90: flush at 10 took 1
repeat 12 every 100: token 0 at 50
repeat 12 every 100: line at 312: 0
=> underfull some
