# Empty.
=> verdict inconclusive
