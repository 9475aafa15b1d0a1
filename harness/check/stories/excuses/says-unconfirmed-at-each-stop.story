# Says unconfirmed at each stop. The line is 750 ms old when TERM comes, and nothing disturbed its
# confirmation. The collector ends with 75 all the same, and its next process sends the line again.
session at -990
process 0 until 1000 exit 75 asked
process 1 from 1100
token 0 at 50
line by 0 at 150: 0
fault {do: stop-collector} struck 900 undone 1000
session at 1150
line by 1 at 1250: 0
=> duplicated 1
