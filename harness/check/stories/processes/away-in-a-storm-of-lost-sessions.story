# Away in a storm of lost sessions. The session ends six times, every 300 ms, and a fresh token comes
# out long after the last time. The time to return counts once, not after each loss.
token 0 at 50
line at 150: 0
repeat 6 every 300: fault {do: terminate-backend} struck 200 undone 210
token 1 at 220
line at 3300: 1
=> late 1, unrecovered 1
