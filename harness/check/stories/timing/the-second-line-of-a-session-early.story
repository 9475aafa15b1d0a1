# The second line of a session, early. A session opens 130 ms before its first line, within timeout
# and slack. Tokens that wait at a session's start may go out at once.
set collector.returns_within=100ms
session at -990
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 370 undone 371
session at 380
token 1 at 450
line at 510: 1
token 2 at 590
line at 640: 2
=> early 1
