# Behind an open transaction, for which it promises not to wait.
set collector.promises=[no_loss, once, limit, timeout, order, reconnect, sharing, small, dead_letters]
token 0 at 50
line at 150: 0
token 1 at 190 commit 390
token 2 at 200
line at 490: 1
line at 495: 2
=> late 1
