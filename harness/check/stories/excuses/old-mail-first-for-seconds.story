# Old mail first for seconds. The server was restarted. The collector is back and sends short lines
# of what had waited, one every 300 ms, but nothing that came since.
set recovery_limit=5s
set collector.promises=[no_loss, once, limit, timeout, reconnect, sharing, small, waits_for_writers, dead_letters]
session at -990
repeat 12: token 0 at 495
fault {do: restart-server} struck 500 undone 600
token 12 at 650
session at 700
repeat 12 every 300: line at 710: 0
line at 4400: 12
=> late some
