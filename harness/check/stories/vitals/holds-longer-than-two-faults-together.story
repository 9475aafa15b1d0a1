# Holds a transaction longer than two faults last that came together. Of its three seconds, the two
# took the same one and a half.
token 0 at 50
line at 150: 0
repeat 6 every 1000: presence at 0
fault {do: pause-collector, for: 1500ms} struck 1000 undone 2500
fault {do: partition, for: 1500ms} struck 1000 undone 2500
hold from 1000 until 4000
=> holds 1, says "1.000 s to 4.000 s"
