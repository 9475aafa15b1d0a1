# Loses one behind the twenty thousandth. All is well for two minutes and 20,999 tokens.
set load.0.for=150s
run until 160000
repeat 7000 every 20: token 0-2 at 50
repeat 7000 every 20: line at 52: 0-2
token 21000-21002 at 140100
line at 140102: 21000-21001
=> lost 1
