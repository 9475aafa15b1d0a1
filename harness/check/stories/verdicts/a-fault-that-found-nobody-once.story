# A fault that found nobody once. A fault comes twice, and the first time it finds no target.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} planned 200 nobody
fault 0 struck 300 undone 301
token 1 at 400
line at 500: 1
=> verdict pass
