# Never committed and lost with the power. A token was rolled back, and the server said so. It goes
# out all the same. The power that is cut later excuses nothing, because the token was never in the
# database.
set postgres.storage=crashable
set postgres.durability=waive
session at -990
token 0 at 50
line at 150: 0
token 1 at 200 rollback
line at 301: 1
fault {do: cut-power} struck 2000 undone 2500
session at 2550
=> phantom 1
