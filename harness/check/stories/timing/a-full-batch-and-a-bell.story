# A full batch and a bell. The collector let the bell go and has planned a look, so the tokens that
# fill its batch are announced to nobody.
set collector.batch_timeout=1s
set postgres.announce=bell
token 0 at 50
line at 1051: 0
repeat 3 every 20: token 1 at 1500
line at 2502: 1-3
=> verdict pass
