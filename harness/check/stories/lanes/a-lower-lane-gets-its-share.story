# A lower lane gets its share. Recoveries go first, and activations age after a tenth of a second.
# Lines have one token, and one of them is in flight. 37 recoveries and five activations. One
# activation follows each eighth recovery.
set collector.dequeue=leased
set collector.batch_limit=1
set collector.env.MAILROOM_LANES=password_recovery,activation
set collector.env.MAILROOM_AGEING=100
set collector.env.MAILROOM_IN_FLIGHT=1
token 0-36 recovery at 50
token 37-41 at 55
repeat 8 every 40: line at 100: 0 sent 110
line at 381: 37 sent 391
repeat 8 every 40: line at 421: 8 sent 431
line at 702: 38 sent 712
repeat 8 every 40: line at 742: 16 sent 752
line at 1023: 39 sent 1033
repeat 8 every 40: line at 1063: 24 sent 1073
line at 1344: 40 sent 1354
repeat 5 every 40: line at 1384: 32 sent 1394
line at 1584: 41 sent 1594
=> verdict pass
