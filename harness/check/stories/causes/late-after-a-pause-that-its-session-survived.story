# Late after a pause that its session survived. The session survives the pause, so nothing after the
# pause is excused.
session at -990
token 0 at 50
line at 150: 0
fault {do: pause-server} struck 200 undone 300
token 1 at 350
line at 800: 1
=> late 1
