# Ends at TERM as if its settings were bad. 78 says that the configuration or the schema does not fit,
# but it has worked until then.
process 0 until 1000 exit 78 asked
process 1 from 1100
token 0 at 50
line at 150: 0
fault {do: stop-collector} struck 900 undone 1000
=> unplanned_exit 1
