# Again, though nothing is lost. A line is read at 150 ms, and again after the power is back.
set postgres.storage=crashable
token 0 at 50
line at 150: 0
fault {do: cut-power} struck 300 undone 800
line at 900: 0
=> duplicated 1
