# Late in a fault window.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 190 undone 191
token 1 at 200
line at 600: 1
=> verdict pass
