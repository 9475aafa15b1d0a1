# A collector that cannot be kept running.
run gave-up "three exits"
token 0 at 50
line at 150: 0
=> verdict violated
