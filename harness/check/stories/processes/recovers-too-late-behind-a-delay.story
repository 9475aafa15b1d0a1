# Recovers too late behind a delay. The delay goes on, but ten round trips have passed after 4 s, and
# a second more is recovery_limit. The session was reset at 500 ms, and the token comes at 7 s.
set load.0.for=10s
session at -990
token 0 at 50
line at 150: 0
fault {do: delay, by: 200ms} struck 300 undone 9900
fault {do: reset} struck 500 undone 501
token 1 at 510
session at 6500
line at 7000: 1
=> late 1, unrecovered 1
