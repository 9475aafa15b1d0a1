# A full batch waits for a short timeout. It is not late by more than a look and a flush may take, so
# nothing can be told.
token 0 at 50
line at 151: 0
repeat 3 every 5: token 1 at 500
line at 601: 1-3
=> verdict pass
