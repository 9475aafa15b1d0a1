# Changes rows before a failover. A failover loses the commits since 1900 ms. The collector changed
# a row that was there long before.
set postgres.standby=async
session at -990
token 0 at 50
line at 150: 0
fault {do: promote-standby} struck 2000 undone 2500 left 1900
session at 2550
row 0 changed tokens.consumed_at,accounts.status
=> meddles 1
