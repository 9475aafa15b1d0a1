# Keeps what it had beyond its lease. They promise a lease, and that of the paused one is over after
# a second. The other ought to have written its token a second and a half later, but does nothing
# until the paused one writes the token itself.
like keeps-what-it-had-without-a-lease.story
set collector.promises=[no_loss, once, limit, timeout, reconnect, backpressure, stop, dead_letters, sharing, lease]
=> late 1
