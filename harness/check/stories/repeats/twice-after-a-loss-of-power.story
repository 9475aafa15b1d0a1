# Twice after a loss of power. A line is read at 150 ms, and again after the power is back. The
# power cut explains the second line. Nothing was lost between the second line and the third.
set postgres.storage=crashable
set postgres.durability=waive
token 0 at 50
line at 150: 0
fault {do: cut-power} struck 300 undone 800
line at 900: 0
line at 901: 0
=> duplicated 1
