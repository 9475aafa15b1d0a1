# Killed often, other lines again. The collector is killed as often, but each line that comes again
# is not the last of its process. Checks that only counted deaths would excuse these repeats; the
# check of causes does not.
process 0 until 352 killed
repeat 4 every 400: process 1 from 452 until 752 killed
process 5 from 2052
token 0 at 50
line at 150: 0
repeat 5 every 400 step 2: token 1 at 200
repeat 5 every 400 step 2: token 2 at 250
repeat 5 every 400 step 2: line at 301: 1
repeat 5 every 400 step 2: line at 305: 1
repeat 5 every 400 step 2: line at 351: 2
repeat 5 every 400: fault {do: kill-collector} struck 352
=> duplicated 5
