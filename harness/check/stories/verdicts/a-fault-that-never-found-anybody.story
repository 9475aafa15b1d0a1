# A fault that never found anybody. A fault comes twice, and the first time it finds no target.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} planned 200 nobody
fault 0 planned 300 nobody
token 1 at 400
line at 500: 1
=> verdict inconclusive
