# Too many lines in a crowd. Programs that do not belong to the run use nine tenths of the processors,
# so the burst came slowly and did not fit one line.
set expect.collector.batches=<= 1
run others 90%
token 0 at 50
line at 150: 0
token 1 at 250
line at 350: 1
=> verdict inconclusive
