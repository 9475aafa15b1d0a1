# Takes over late from one that nobody restarts. The takeover is due at 4500 ms.
like takes-over-from-one-that-nobody-restarts.story
token 7 at 1300
line at 4800: 7
=> late 1
