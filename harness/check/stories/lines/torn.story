# Torn.
token 0 at 50
line at 150: 0
line at 150 torn
=> torn 1
