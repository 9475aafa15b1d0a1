# A backlog behind a fault until the end. A backlog from before the fault comes out in full lines
# for a while. The drain is too short for the fresh token behind it.
set slack=1s
token 0 at 50
line at 150: 0
token 1-36 at 900
fault {do: reset} struck 1000 undone 1100
repeat 12 every 800: line at 1200: 1-3
token 37 at 1500
=> verdict inconclusive
