# Ends well when its reader is gone. Somebody closed the pipe. The collector ends with 0, as if all
# that it took had been written.
session at -990
process 0 until 910 exit 0 unasked
process 1 from 1010
token 0 at 50
line by 0 at 150: 0
fault {do: close-reader} struck 900 undone 901
=> unplanned_exit 1
