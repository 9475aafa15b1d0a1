# The harness could not start the server again, the collector ended three times without it, and the
# run ended early. Nobody can tell what the collector would have done.
run gave-up "three exits"
token 0 at 50
line at 150: 0
fault {do: crash-server} struck 190 undone 400 failed
token 1 at 180
=> verdict inconclusive, says "1 of 1 faults did not take effect"
