# A closed loop behind a fault. A fault of 2 s. Afterwards each token that waits takes a while.
# Behind it ten times as many come, in a phase of their own.
set collector.batch_limit=1
set collector.capacity=60/s
set load.0.for=2s
set load.0.rate=20/s
set load.1.name=phase-2
set load.1.for=2s
set load.1.rate=max
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
set slack=100ms
session at -990
repeat 44 every 50: token 0 at 50
line at 60: 0
fault {do: pause-server} struck 100 undone 2100
repeat 159 every 33: line at 2110: 1
repeat 116 every 5: token 44 at 2205
=> verdict pass
