# Full lines between faults. The faults interrupt a chain of full lines.
session at -990
token 0-59 at 300
repeat 5 every 40: line at 340: 0-2
repeat 4 every 260: fault {do: terminate-backend} struck 505 undone 506
repeat 4 every 260: session at 560
repeat 5 every 40: line at 600: 15-17
repeat 5 every 40: line at 860: 30-32
repeat 5 every 40: line at 1120: 45-47
=> verdict pass
