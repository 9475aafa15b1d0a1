# A batch of tokens that nobody sends. Nine tokens expired before they were committed. They fill no
# batch, and the one behind them waits for the timeout.
set collector.batch_timeout=1s
token 0 at 50
line at 1051: 0
repeat 9 every 20: token 1 expired at 1500
token 10 at 1700
line at 2701: 10
=> verdict pass
