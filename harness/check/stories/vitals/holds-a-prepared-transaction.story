# Holds a prepared transaction.
token 0 at 50
line at 150: 0
repeat 6 every 1000: presence at 0
hold from 1000 until 3000 prepared
=> holds 1, says "prepared"
