# Full lines over a slow network. Each line takes two round trips, of 30 ms each way, so the lines
# follow each other every 120 ms. That is more than the slack, and no reason to end the chain.
fault {do: delay, by: 30ms, for: 3s} struck 20 undone 3020
token 0-35 at 50
repeat 12 every 120 step 3: line at 170: 0-2
=> judged late 36 of 36
