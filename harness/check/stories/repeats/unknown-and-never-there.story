# Unknown, and never there.
set postgres.storage=crashable
set postgres.durability=waive
token 0 at 50
line at 150: 0
token 1 at 190 unknown
line at 290: 1
fault {do: cut-power} planned 295 struck 95 undone 200
=> phantom 1
