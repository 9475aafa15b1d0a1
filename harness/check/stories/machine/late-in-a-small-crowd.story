# Late in a small crowd. Programs that do not belong to the run use nine tenths of the processors.
# The slack is measured.
set slack=auto
run others 50%
token 0 at 50
line at 150: 0
token 1 at 200
line at 900: 1
=> late 1
