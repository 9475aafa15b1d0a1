# Lingers while nobody looks. TERM comes at 900 ms. The process ends at 1000 ms.
process 0 until 2000 exit 0 asked
process 1 from 2100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 2000
probe at 900 stalled 1000 took 0
=> verdict inconclusive, says "1 collector ended late while the harness, the machine or the server stood still"
