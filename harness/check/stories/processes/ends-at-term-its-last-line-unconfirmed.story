# Ends at TERM, its last line unconfirmed. TERM comes at 900 ms. The process ends at 1000 ms.
process 0 until 1000 exit 75 asked
process 1 from 1100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 1000
=> verdict pass
