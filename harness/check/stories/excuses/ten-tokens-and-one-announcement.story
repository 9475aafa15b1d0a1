# Ten tokens and one announcement. The first schema announces ten tokens of a transaction once. A
# collector that counts announcements waits for the timeout.
set collector.batch_limit=10
set collector.batch_timeout=1s
set postgres.schema=1
token 0-9 at 1000
line at 2002: 0-9
=> verdict pass
