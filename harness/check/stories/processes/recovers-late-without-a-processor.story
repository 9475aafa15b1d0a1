# Recovers late, without a processor. The first fresh token comes 90 ms too late. Before it, others
# kept the processors from the collector for 110 ms, or for 66 ms, which is too little to explain
# it.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 200 undone 210
token 1 at 300
line at 1400: 1
look at -1000
repeat 100 every 50: look at -950 waited 5 own 1 ran 1
=> verdict pass
