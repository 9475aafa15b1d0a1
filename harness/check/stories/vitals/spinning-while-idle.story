# Spinning while idle.
set load.0.for=1s
set load.1.name=phase-2
set load.1.for=3s
set load.1.rate=0/s
set load.1.arrivals=poisson
set load.1.connections=8
set load.1.rows_per_transaction=1
set load.1.recovery=0
set load.1.rollback=0
set load.1.hold_open.share=0
set load.1.hold_open.for=0s
set load.1.ineligible=0
set load.1.unsendable=0
set load.1.names=plain
set load.1.insert=row
set load.1.backlog=0
set load.1.changes.consume=0
set load.1.changes.suspend=0
set load.1.changes.reactivate=0
set load.1.changes.expire=0
set load.1.changes.delete=0
token 0 at 50
line at 150: 0
sample at 0 rss 5000
repeat 7 every 500: sample at 500 rss 5000 cpu 500
=> busy_idle 1
