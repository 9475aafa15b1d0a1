-- The cursor goes back to a plain id. Tokens were dequeued in the order of their transactions, so
-- delivered and waiting ids are mixed: the cursor is put just before the smallest that waits. Those
-- above it that were delivered are delivered again, and none is lost. When nothing waits, the
-- cursor is the highest id in the table; in an empty table it is 0, because the ids may have been
-- started afresh.

BEGIN;

LOCK TABLE tokens, jobs IN ACCESS EXCLUSIVE MODE;

UPDATE jobs SET last_seq = coalesce(
    (SELECT min(id) - 1 FROM tokens WHERE (xid, id) > (jobs.last_xid, jobs.last_seq)),
    (SELECT max(id) FROM tokens),
    0);

ALTER TABLE jobs DROP COLUMN epoch, DROP COLUMN last_xid;
DROP INDEX tokens_xid_id_idx;
ALTER TABLE tokens DROP COLUMN xid;

COMMIT;
