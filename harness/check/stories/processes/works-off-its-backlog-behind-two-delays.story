# Works off its backlog behind two delays. The session is reset meanwhile, and full lines follow each
# other from before that on. The next token is committed at 3 s. By then the subject has recovered
# long ago.
session at -990
token 0-251 at 50
repeat 84 every 40 step 3: line at 100: 0-2
fault {do: delay, by: 200ms} struck 300 undone 9900
fault {do: delay, by: 100ms} struck 300 undone 9900
fault {do: reset} struck 500 undone 501
session at 560
token 252 at 3000
line at 3460: 252
=> verdict pass
