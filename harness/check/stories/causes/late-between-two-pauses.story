# Late between two pauses. A line with a token that was committed between the faults shows that the
# session had survived the first.
session at -990
token 0 at 50
line at 150: 0
fault {do: pause-server} struck 200 undone 300
token 1 at 350
line at 800: 1
fault {do: pause-server} struck 900 undone 1000
fault {do: terminate-backend} struck 1200 undone 1201
session at 1220
=> late 1
