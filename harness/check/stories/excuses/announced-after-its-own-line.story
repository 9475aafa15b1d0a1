# Announced after its own line. A token leaves in a short line half a millisecond after its commit,
# when another one's timer ends. Its announcement comes after that and starts a timer of its own.
token 0 at 0 ack 0.5
token 1 at 99.5 commit 99.6 ack 100
line at 100.5: 0-1
token 2 at 180
line at 201.5: 2
=> verdict pass
