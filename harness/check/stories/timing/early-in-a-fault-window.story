# Early in a fault window.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 180 undone 181
token 1 at 200
line at 250: 1
=> verdict pass
