-- Waits for the turn to claim, until the end of the transaction. Waiting for the cursor's row would
-- not do: each claim writes a new version of it, and a slow collector would wait for one after the
-- other. This lock goes to those who wait in the order in which they came. $1 queue
SELECT pg_advisory_xact_lock(hashtextextended('mailroom-zoo claims from ' || $1, 0))
