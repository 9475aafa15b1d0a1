# Unrecovered. With its timeout a token may come later than recovery_limit after the fault, but then
# the collector has not recovered.
set collector.batch_timeout=300ms
token 0 at 50
line at 350: 0
fault {do: terminate-backend} struck 400 undone 410
token 1 at 500
line at 1600: 1
=> unrecovered 1
