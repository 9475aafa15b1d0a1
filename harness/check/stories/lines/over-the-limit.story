# Over the limit.
token 0-3 at 50
line at 50: 0-3
=> over_limit 1
