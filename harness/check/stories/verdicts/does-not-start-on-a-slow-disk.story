# The power is cut while the disk is slow, and the server is not ready in the time that we wait: its
# recovery flushes each file. Nobody looked whether the row is there, so nothing is convicted.
set postgres.storage=crashable
token 0 at 50
line at 150: 0
row 0 gone
fault {do: slow-disk, by: 50ms} struck 100 undone 600
fault {do: cut-power} struck 190 undone 400 failed
=> verdict inconclusive
