# A session for each batch, opened just before its line. Nothing is late or early for that.
repeat 10 every 300: session at 130
repeat 10 every 300: token 0 at 50
repeat 10 every 300: line at 152: 0
=> verdict pass
