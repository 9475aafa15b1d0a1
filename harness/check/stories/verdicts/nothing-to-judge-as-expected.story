# Nobody was killed, so nobody had to come back. Expected to be 0, which it is.
set expect.unrecovered== 0
token 0 at 50
line at 150: 0
=> judged unrecovered 0 of 0, verdict pass
