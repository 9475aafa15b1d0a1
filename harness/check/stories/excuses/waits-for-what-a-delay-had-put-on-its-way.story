# Waits for what a delay had put on its way. The token is committed a moment after the end of the delay.
# A request of the collector that was sent a moment before takes up to 150 ms, and then the lines ahead
# go out. One that is as late behind the end plus that time is late.
set slack=60ms
set collector.batch_timeout=50ms
session at -990
token 0 at 50
line at 100: 0
fault {do: delay, by: 50ms, jitter: 100ms} struck 800 undone 1800
token 1 at 1801
line at 1932: 1
token 2 at 1960
line at 2091: 2
=> late 1
