# A slow recovery in a crowd. Programs that do not belong to the run use nine tenths of the processors,
# and the generator falls behind.
set slack=3s
set recovery_limit=5s
set expect.recovery.max=< 300ms
run others 90%
session at -990
token 0 due 0 at 500
line at 600: 0
fault {do: terminate-backend} struck 1000 undone 1001
token 1 at 1050
session at 1505
line at 1510: 1
=> verdict inconclusive
