# Perhaps changed. A token changes 10 ms after its commit. Other lines come out, and then the token.
# Before each line the reader finds the pipe empty. Nobody knows whether the change was made.
token 0 at 50
line at 150: 0
token 1 at 200
repeat 3 every 100: token 2 at 200
change 1 suspend at 210 unknown
repeat 3 every 100: line at 300: 2
line at 600: 1
=> verdict pass
