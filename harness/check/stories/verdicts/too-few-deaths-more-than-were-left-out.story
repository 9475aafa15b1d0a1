# Too few deaths, more than were left out. A fault comes twice, and the first time it finds no
# target. One fault was left out, but two deaths are missing.
set expect.collector.deaths=>= 2
token 0 at 50
line at 150: 0
fault {do: terminate-backend} planned 200 nobody
fault 0 struck 300 undone 301
token 1 at 400
line at 500: 1
=> verdict violated
