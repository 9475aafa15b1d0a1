-- The tail of a look at the queue, behind lanes.sql: takes its lock, if it may.
--
-- $1 queue | $2 our name | $3 rows to look at: 1 | $4 our number
-- $5 whether only one may collect
-- $6 whether to take it from the holder $7, which has had its grace
-- $8 the epoch whose lease is over
--
-- A holder has the lock of its epoch. A collector that takes over needs the
-- lock of the next epoch, so it does not wait for a holder that hangs. Without
-- $8 the lock of the present epoch must be free, too. Every collector shares
-- the lock of the queue, which keeps an administrator's commands out.
, job AS MATERIALIZED (
    SELECT j.*, mailroom_lock_key($1::text, epoch::text) AS now_key,
           mailroom_lock_key($1::text, (epoch + 1)::text) AS next_key
    FROM jobs AS j
    WHERE job_type::text = $1::text
), locks AS MATERIALIZED (
    SELECT l.classid::bigint << 32 | l.objid::bigint AS key, l.mode
    FROM pg_locks AS l
    JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.pid <> pg_backend_pid()
), may AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM locks WHERE key = now_key) AS held FROM job
)
SELECT CASE
           WHEN NOT $5::bool OR holder = $2 OR epoch = $8::bigint
               OR NOT held AND (holder IS NULL OR $6::bool AND holder = $7)
           THEN pg_try_advisory_lock_shared(mailroom_lock_key($1::text, 'queue'))
                AND pg_try_advisory_lock($4::bigint)
                AND (NOT $5::bool OR pg_try_advisory_lock(next_key))
           ELSE false
       END AS taken,
       $5::bool AND NOT held AS free, coalesce(holder, '') AS holder,
       mailroom_moved($1::text) AS moved, coalesce(mode, '') AS mode, epoch,
       (SELECT sum(n) FROM cursor)::bigint + renewed AS progress,
       -- Beyond the cursor, in an owner's hand, which its shared lock shows, or with nobody.
       EXISTS (SELECT FROM behind)
       OR EXISTS (SELECT FROM locks AS l JOIN owners AS o ON o.owner = l.key
                  WHERE o.queue = $1::job_type AND l.mode = 'ShareLock')
       OR EXISTS (SELECT FROM owners WHERE queue = $1::job_type AND owner = 0)
          AND EXISTS (SELECT FROM deliveries WHERE queue = $1::job_type AND owner = 0) AS waits,
       -- The lanes, written as in MAILROOM_LANES.
       (SELECT string_agg(array_to_string(actions, '+'), ',' ORDER BY lane) FROM cursor) AS lanes
FROM job, may
