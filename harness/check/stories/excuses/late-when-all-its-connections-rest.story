# All its connections rest. In a trial the session is back at 210 ms, and from 240 ms on it has rested
# for 20 ms. A token that it did not see when it looked goes out at its next look, a second later: it
# listened too late.
token 0 at 50
line at 150: 0
fault {do: terminate-backend} struck 190 undone 191 ready 240
token 1 at 200
line at 900: 1
=> late 1
