# Late after a pause that its session survived. The time to notice the silence, which is the
# recovery_limit, is over before the token is due.
token 0 at 50
line at 150: 0
fault {do: pause-server} struck 200 undone 300
token 1 at 1350
line at 1800: 1
=> late 1
