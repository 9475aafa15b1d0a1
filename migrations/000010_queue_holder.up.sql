-- Mends: nothing told a collector that finds the queue free whether somebody
-- has only just lost it. It took the queue at once, and what the other had
-- written and not yet confirmed was mailed again.
--
-- The holder is the process that claimed the queue last, and null once it has
-- left in good order. Others leave a holder its grace; it may itself come back
-- at any time, unless somebody else has become the holder meanwhile.

BEGIN;

ALTER TABLE jobs ADD COLUMN holder text;
GRANT UPDATE (holder) ON jobs TO mailroom_collector;

COMMIT;
