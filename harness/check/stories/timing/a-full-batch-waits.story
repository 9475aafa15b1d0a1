# A full batch waits. Three tokens fill a batch, and it waits for the timeout of a second all the
# same.
set collector.batch_timeout=1s
token 0 at 50
line at 1051: 0
repeat 3 every 20: token 1 at 1500
line at 2502: 1-3
=> late some
