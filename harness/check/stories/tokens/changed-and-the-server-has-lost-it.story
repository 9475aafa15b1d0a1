# Changed, and the server has lost it. A token changes 10 ms after its commit. Other lines come out,
# and then the token. Before each line the reader finds the pipe empty. The server has lost the
# change, and the token is eligible again.
set postgres.storage=crashable
set postgres.durability=waive
token 0 at 50
line at 150: 0
token 1 at 200
repeat 3 every 100: token 2 at 200
change 1 consume at 210
repeat 3 every 100: line at 300: 2
fault {do: cut-power} struck 400 undone 450
line at 600: 1
=> verdict pass
