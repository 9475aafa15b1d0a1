# A dead letter, beside tables of its own.
set collector.layout=foreign
token 0 at 50
line at 150: 0
token 1 short-secret at 200
=> verdict pass
