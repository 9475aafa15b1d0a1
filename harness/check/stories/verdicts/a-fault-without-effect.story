# A fault without effect.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 2000 undone 2001 failed
=> verdict inconclusive
