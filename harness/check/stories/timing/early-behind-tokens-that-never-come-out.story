# Early behind tokens that never come out. The collector waits for half of the timeout. Every second
# token expires in its own transaction and opens a window as well, but the short line before has
# closed that window.
set slack=100ms
token 0 at 50
line at 150: 0
repeat 20 every 100 step 2: token 1 at 210
repeat 20 every 100 step 2: token 2 at 220 expired
repeat 20 every 100 step 2: line at 265: 1
=> early 20
