# Phantom.
token 0 at 50
line at 150: 0
token 1 at 250 rollback
line at 350: 1
=> phantom 1
