# Unrecovered.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 200 undone 210
token 1 at 300
line at 1400: 1
=> unrecovered 1
