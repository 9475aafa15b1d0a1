# Tells the key.
run key-told
token 0 at 50
line at 150: 0
=> tells_secrets 1, says "key"
