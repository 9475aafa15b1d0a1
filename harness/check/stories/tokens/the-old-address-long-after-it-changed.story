# The old address long after it changed. The collector stands still, and an account gets another
# address meanwhile. Three lines go out when it goes on, and the fourth still has the old address.
session at -990
fault {do: pause-collector} struck 20 undone 1500
token 1-9 at 40
token 0 at 50
change 0 email at 60
repeat 3 every 2 step 3: line at 1510: 1-3
line at 1520: 0 old-name
=> forged 1
