# Unrecovered in a crowd within the slack. Programs that do not belong to the run use nine tenths of the
# processors, and the generator falls behind by half a second. The slack forgives that, but does not
# loosen recovery_limit.
set slack=3s
set recovery_limit=1s
run others 90%
session at -990
token 0 due 0 at 500
line at 600: 0
fault {do: terminate-backend} struck 1000 undone 1001
token 1 at 1050
session at 3400
line at 3500: 1
=> verdict inconclusive
