# Full lines of a higher lane begin too late. As behind a stall, but nothing stood still: the
# activation should have gone out before the first recovery came.
set collector.batch_limit=1
set collector.env.MAILROOM_LANES=password_recovery,activation
set collector.env.MAILROOM_AGEING=60000
token 0 at 50
repeat 26 every 20: token 1 recovery at 280
repeat 26 every 20: line at 300: 1
line at 820: 0
=> late 1, says "t0000000"
