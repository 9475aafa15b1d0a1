# Lost in a crowd. Programs that do not belong to the run use nine tenths of the processors. The
# slack is measured.
set slack=auto
run others 90%
token 0 at 50
line at 150: 0
token 1 at 200
token 2 at 300
line at 900: 1
=> lost 1
