# A drain that ended early. The drain ended early because every token that it waits for had come.
set drain=7s
run until 10000
token 0 at 50
line at 150: 0
token 1-2 at 200
token 3-5 at 9989
line at 9990: 3-5
=> lost 2
