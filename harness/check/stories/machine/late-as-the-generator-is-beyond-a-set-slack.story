# Late, as the generator is, beyond a set slack. Programs that do not belong to the run use nine
# tenths of the processors. The slack is measured. Others use 60% of the processors, and the
# generator sends the second token 150 ms after its intended time.
run others 60%
token 0 at 50
line at 150: 0
token 1 due 50 at 200
line at 900: 1
=> verdict inconclusive
