# Early behind a token that nobody sends. An expired token stays in the queue for ever. It opens no
# window for a line that comes a second later.
token 0 expired at 10
token 1 at 50
line at 150: 1
token 2 at 1000
line at 1010: 2
=> early 1
