# The harness could not start the server again, and no token came out from then on. Nobody can tell
# what a good collector would have done.
token 0 at 50
line at 150: 0
fault {do: crash-server} struck 190 undone 400 failed
token 1 at 180
=> verdict inconclusive
