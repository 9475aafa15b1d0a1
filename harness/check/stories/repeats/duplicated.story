# Duplicated.
token 0 at 50
repeat 3 every 1 step 0: line at 150: 0
=> duplicated 2
