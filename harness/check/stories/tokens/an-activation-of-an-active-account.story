# An activation of an active account, and a recovery of a provisioned one. Neither may go out.
token 0 active at 50
token 1 provisioned at 60
token 2 at 200
line at 150: 0-1
line at 301: 2
=> ineligible 2
