# The machine stands still beyond the lease. The whole machine stands still for longer than the
# lease. The other collector then takes the turn, and writes the first one's last line again. Nobody
# is guilty, and the run proves nothing.
set collector.instances=2
set collector.env.MAILROOM_LEASE=1000
session at -990
token 0 at 890
line by 0 at 991: 0
stall from 1000 until 2600
probe at 1000 stalled 1600
flush at 1000 stalled 1600
line by 1 at 2650: 0
=> verdict inconclusive
