# Again after a cut. The connection ends as the line is written and not confirmed, and the process
# lives on: it knows what it has written.
token 0 at 50
line at 150: 0
fault {do: cut-at, message: server ReadyForQuery, n: 4, side: after} struck 149 undone 150
line at 250: 0
=> duplicated 1, says "t0000000"
