-- Mends: a collector that found the queue free could not know whether another
-- had only just lost it. It took the queue at once, and tokens that the other
-- had written but not yet confirmed were mailed again.
--
-- The holder is the process that claimed the queue last, and null once it has
-- left in good order. Other collectors wait for the grace before they take over
-- from a holder. The holder itself may come back at any time, unless another
-- has become the holder meanwhile.

BEGIN;

ALTER TABLE jobs ADD COLUMN holder text;
GRANT UPDATE (holder) ON jobs TO mailroom_collector;

COMMIT;
