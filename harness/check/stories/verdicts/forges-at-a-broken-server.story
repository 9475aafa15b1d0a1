# The harness could not start the server again. A forged line was written before, and no server is to
# blame for it.
token 0 at 50
token 1 at 60
line at 150: 0 1 forged
fault {do: crash-server} struck 190 undone 400 failed
=> forged 1, verdict violated
