# Does not end at TERM.
process 0 killed unasked
token 0 at 50
line at 150: 0
=> unplanned_exit 1
