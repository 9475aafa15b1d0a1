# A share of the short lines has to be judged, and there was none.
set judged.underfull=50%
set collector.batch_limit=1
token 0 at 50
line at 60: 0
=> judged underfull 0 of 0, verdict inconclusive, says "nothing showed whether underfull is broken"
