# Drained long before, with a wide slack. The last full line of the load came just after its end. The
# slack is wider than the drain, but that line says nothing about the drain's end.
set slack=30s
token 0 at 50
line at 150: 0
token 1-2 at 200
token 3-5 at 3998
line at 4001: 3-5
=> lost 2
