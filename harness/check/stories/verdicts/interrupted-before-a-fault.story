# Interrupted before a fault.
run interrupted
token 0 at 50
line at 150: 0
fault {do: kill-collector} planned 3500
=> verdict inconclusive
