# All is sent again after a failover. A failover loses the commits since 1900 ms. All that was sent
# and confirmed long before goes out again.
set postgres.standby=async
session at -990
repeat 6 every 120: token 0 at 50
repeat 6 every 120: line at 152: 0
fault {do: promote-standby} struck 2000 undone 2500 left 1900
session at 2550
line at 2600: 0-2
line at 2640: 3-5
=> duplicated some
