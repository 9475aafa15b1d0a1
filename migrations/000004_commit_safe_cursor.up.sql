-- Mends: `id > last_seq` lost a token whose transaction committed after a
-- higher id had been dequeued, because an id is drawn long before its commit.
--
-- Every token now carries the number of its transaction, and the cursor is the
-- pair (last_xid, last_seq). A collector reads
--
--     (xid, id) > (last_xid, last_seq)
--         AND xid < pg_snapshot_xmin(pg_current_snapshot())  ORDER BY xid, id
--
-- All transactions below that horizon are over, so no token can appear behind
-- the cursor any more. A writing transaction that stays open delays younger
-- tokens and loses none.
--
-- On a used table: the old rows get transaction 0, which no transaction ever
-- has, and the cursor becomes (0, last_seq). So exactly the old rows that were
-- waiting still wait. All future rows come after them in the order, even those
-- of a transaction that is older than this migration and inserts after it. (The
-- migration's own number on the old rows would lose those.) A constant default
-- is stored once instead of in every row, so the table is not rewritten; the
-- default for new rows is set after it.
--
-- Stop old collectors first: they move last_seq only.

BEGIN;

-- This waits for every transaction that has inserted a token. It locks the tables
-- in the order of a collector, which reads tokens and then updates jobs. It is
-- the first statement, so that under REPEATABLE READ, too, the rest sees what
-- those transactions have committed.
LOCK TABLE tokens, jobs IN ACCESS EXCLUSIVE MODE;

-- The column and the index may have been made by the online file.
ALTER TABLE tokens ADD COLUMN IF NOT EXISTS xid xid8 NOT NULL DEFAULT '0';
ALTER TABLE tokens ALTER COLUMN xid SET DEFAULT pg_current_xact_id();
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_index
               WHERE indexrelid = to_regclass('tokens_xid_id_idx') AND NOT indisvalid) THEN
        DROP INDEX tokens_xid_id_idx;
    END IF;
END
$$;
CREATE INDEX IF NOT EXISTS tokens_xid_id_idx ON tokens (xid, id);

-- epoch counts the takeovers of the queue: a collector that was away moves the
-- cursor only if no other has taken the queue meanwhile.
ALTER TABLE jobs
    ADD COLUMN last_xid xid8 NOT NULL DEFAULT '0',
    ADD COLUMN epoch bigint NOT NULL DEFAULT 0;

COMMIT;
