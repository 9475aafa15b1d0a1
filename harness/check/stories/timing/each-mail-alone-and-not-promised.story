# Each mail alone, and not promised. Nobody promised to fill a batch.
set collector.promises=[no_loss, once, limit, timeout]
repeat 100 every 100: flush at 10 took 1
repeat 12 every 20: token 0 at 50
repeat 12 every 20: line at 151: 0
=> verdict pass
