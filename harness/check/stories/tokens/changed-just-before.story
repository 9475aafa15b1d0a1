# Changed just before. A token changes 10 ms after its commit. Other lines come out, and then the
# token. Before each line the reader finds the pipe empty.
token 0 at 50
line at 150: 0
token 1 at 200
token 2 at 200
change 1 consume at 210
token 3 at 300
line at 300: 2
line at 400: 3
line at 500: 1
=> verdict pass
