# Consumed by the load, whose trigger activates the account.
token 0 at 50
line at 150: 0
token 1 consumed at 60
=> judged meddles 2 of 2
