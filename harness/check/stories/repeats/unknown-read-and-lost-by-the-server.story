# Unknown, read, and lost by the server.
set postgres.storage=crashable
set postgres.durability=waive
token 0 at 50
line at 150: 0
token 1 at 190 unknown
line at 290: 1
fault {do: cut-power} struck 295 undone 800
=> verdict pass
