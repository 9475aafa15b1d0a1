-- Returns whether a transaction still runs that may have been silent: one with a number below that
-- of the bell ($1) that has inserted tokens, and so has the lock of an insert on a table with the
-- bell's trigger. Prepared transactions count, too. A transaction keeps both locks until its tokens
-- can be seen.
WITH locks AS MATERIALIZED (
    SELECT * FROM pg_locks WHERE granted AND locktype IN ('relation', 'transactionid')
)
SELECT EXISTS (
    SELECT
    FROM locks AS inserts
    JOIN locks AS runs USING (virtualtransaction)
    WHERE inserts.mode = 'RowExclusiveLock'
      AND inserts.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND EXISTS (SELECT FROM pg_trigger AS t
                  WHERE t.tgrelid = inserts.relation AND t.tgname = 'token_rings')
      AND runs.mode = 'ExclusiveLock' AND age(runs.transactionid) > age($1::xid8::xid))
