# The generator is two seconds late while the harness makes pages that the cut is to tear. The
# checkpoints that this takes hold up the load, and say nothing of the machine.
set postgres.storage=crashable
fault {do: cut-power} planned 1000 sought 1000 struck 3200 undone 3300
token 0 due 1100 at 3400
session at 3350
line at 3500: 0
=> verdict pass
