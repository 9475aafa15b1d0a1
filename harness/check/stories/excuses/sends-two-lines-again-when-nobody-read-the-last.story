# Sends two lines again when nobody read the last. Nobody reads the collector when TERM comes. It
# ends with 75, because its last line may be unconfirmed. The line before that was read and confirmed
# 600 ms before, and goes out again as well.
session at -990
process 0 until 920 exit 75 asked
process 1 from 1020
token 0 at 50
line by 0 at 150: 0
token 1 at 700
fault {do: pause-reader} struck 750 undone 1000
fault {do: stop-collector} struck 900 undone 920
line by 0 at 1001 empty 750: 1
session at 1070
line by 1 at 1100: 1
line by 1 at 1130: 0
=> duplicated 1
