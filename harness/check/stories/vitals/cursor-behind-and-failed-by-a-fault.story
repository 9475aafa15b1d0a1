# Cursor behind, and failed by a fault. The server goes away between the line and TERM, so that the
# collector cannot confirm the line. It ends with 70. The timeout is not promised, so the line is not
# late.
set collector.promises=[no_loss, once, limit, order, reconnect, sharing, small, waits_for_writers, dead_letters]
process 0 exit 70
token 0 at 50
line at 150: 0
token 1 at 3900
line at 3940: 1
fault {do: crash-server} struck 3950 undone 10050
row 1 waiting
=> verdict pass
