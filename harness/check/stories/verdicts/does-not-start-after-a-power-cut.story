# The server does not start again after its power was cut, so all that was acknowledged is gone. The
# disk kept what was flushed: that is the finding, and no failure of the harness.
set postgres.storage=crashable
token 0 at 50
line at 150: 0
row 0 gone
fault {do: cut-power} struck 190 undone 400 failed
=> vanished 1, verdict violated
