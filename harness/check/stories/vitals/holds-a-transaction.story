# Holds a transaction for two seconds, while its reader stands still.
token 0 at 50
line at 150: 0
repeat 6 every 1000: presence at 0
fault {do: pause-reader, for: 3s} struck 500 undone 3500
hold from 1000 until 3000
=> holds 1, says "1.000 s to 3.000 s"
