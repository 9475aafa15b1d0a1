# The server's clock steps by two hours. A token that is inserted while the step is under way has its
# time of expiry by the clock before, and so has expired once the step has come. One that is inserted
# behind the step lives for its 15 minutes, so it is lost.
set slack=100ms
fault {do: step-clock, target: server, by: 7200s} planned 100 sought 100 struck 100 undone 102
token 0 at 101
token 1 at 103
token 2 at 110
line at 210: 2
row 0 expires 900000
row 1-2 expires 8100000
=> lost 1, says "t0000001"
