# Settled before the power was lost. A token of an earlier segment of a soak comes again after the
# server has lost what was committed last.
set postgres.storage=crashable
set postgres.durability=waive
token 0 at 50
line at 150: 0
fault {do: cut-power} struck 300 undone 800
line at 900: strange earlier
=> verdict pass
