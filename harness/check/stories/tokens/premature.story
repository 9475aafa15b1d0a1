# Premature.
token 0 at 50
line at 150: 0
token 1 at 250 commit 450
fault {do: terminate-backend} struck 340 undone 341
line at 350: 1
=> premature 1
