# Each mail alone. Six tokens wait at the same time. Each leaves alone, at its own timeout, and
# leaves the others behind.
repeat 100 every 100: flush at 10 took 1
repeat 12 every 20: token 0 at 50
repeat 12 every 20: line at 151: 0
=> underfull some
