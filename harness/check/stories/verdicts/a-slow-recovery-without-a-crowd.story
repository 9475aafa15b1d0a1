# A slow recovery and a slow generator, though programs that do not belong to the run use a tenth of
# the processors only.
set slack=3s
set recovery_limit=5s
set expect.recovery.max=< 300ms
run others 10%
session at -990
token 0 due 0 at 500
line at 600: 0
fault {do: terminate-backend} struck 1000 undone 1001
token 1 at 1050
session at 1505
line at 1510: 1
=> verdict missed
