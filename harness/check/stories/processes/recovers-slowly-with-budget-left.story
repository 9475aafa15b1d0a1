# Recovers slowly, with budget left. A backlog comes out behind the fault, two tokens a fifth of a
# second. That is all that a budget of 10 a second allows, and a quarter of a budget of 40. The
# fresh token is behind the backlog.
set collector.env.MAILROOM_BUDGET=40/s
token 0 at 50
token 1-20 at 100
line at 150: 0
fault {do: terminate-backend} struck 200 undone 210
token 21 at 300
repeat 10 every 200: line at 300: 1-2
line at 2300: 21
=> late 11, unrecovered 1
