# A short line taken ahead. It was taken when the line before was written. More tokens came while that
# one was confirmed, and are in the next line.
set collector.batch_limit=10
repeat 100 every 90: flush at 10 took 70
token 0 at 50
line at 152: 0
repeat 3 every 1: token 1 at 500
line at 610: 1-3
repeat 5 every 5: token 4 at 615
line at 702: 4-5
line at 780: 6-8
=> verdict pass
