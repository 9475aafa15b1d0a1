# Late beside the reader's thousandth stall.
token 0 at 50
line at 150: 0
token 1 at 200
line at 451: 1
repeat 1000 every 100: stall from -200000 until -199940
stall from 250 until 451
=> verdict pass
