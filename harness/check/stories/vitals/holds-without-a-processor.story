# Holds a transaction because other programs have the processors.
token 0 at 50
line at 150: 0
repeat 6 every 1000: presence at 0
repeat 60 every 50: look at 0 waited 45 busy 100
hold from 1000 until 2000
=> verdict pass
