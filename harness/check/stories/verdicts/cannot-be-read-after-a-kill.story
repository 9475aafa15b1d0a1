# The server was killed and was not ready in time. Its disk has what it had, but nobody could read it.
token 0 at 50
line at 150: 0
row 0 gone
fault {do: kill-server} struck 190 undone 400 failed
=> verdict inconclusive
