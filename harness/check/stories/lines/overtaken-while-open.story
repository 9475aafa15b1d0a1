# Overtaken while open.
token 0 at 50 commit 70
token 1 at 60
line at 160: 1
line at 170: 0
=> verdict pass
