-- Mends: the index on jobs.last_seq made every move of the cursor write a new
-- index entry and kept the update from being heap-only, so a table of one row
-- grew with every batch until the next VACUUM.
--
-- Nothing ever searched for a last_seq; the table has one row.

BEGIN;

DROP INDEX jobs_last_seq_idx;

COMMIT;
