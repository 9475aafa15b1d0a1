# Refuses its settings. Its settings are good, but it ends with 78 each time it is started, and the
# run is given up.
run gave-up "three exits"
process 0 from -1000 until -900 exit 78 unasked
process 1 from -800 until -700 exit 78 unasked
process 2 from -600 until -500 exit 78 unasked
token 0 at 50
=> unplanned_exit some, lost 1
