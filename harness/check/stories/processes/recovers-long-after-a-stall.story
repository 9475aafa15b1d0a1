# Recovers long after a stall. The reader stood still when the first fresh token was written, or at
# an earlier time.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 200 undone 210
token 1 at 300
line at 1400: 1
stall from 150 until 250
=> late 1, unrecovered 1
