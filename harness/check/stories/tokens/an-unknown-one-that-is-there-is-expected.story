# An unknown one that is there is expected.
token 0 at 50
line at 150: 0
token 1 at 200 unknown there
=> lost 1
