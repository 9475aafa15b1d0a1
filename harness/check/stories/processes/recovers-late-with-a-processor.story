# Recovers late, with a processor.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 200 undone 210
token 1 at 300
line at 1400: 1
look at -1000
repeat 100 every 50: look at -950 waited 3 own 1 ran 1
=> unrecovered 1
