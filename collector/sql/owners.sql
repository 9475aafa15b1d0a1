-- Lists the other owners of deliveries, each with the counter of its lease, whether
-- a session holds its lock, and whether it has something in hand. Deletes those
-- that are gone and have nothing left.
--
-- One that has come back, which its lock shows, is kept: nobody would find what it takes from now
-- on. Where only one may collect, it enters itself again before it takes.
--
-- $1 queue | $2 our number | $3 those that are gone and have nothing left
-- $4 whether only one may collect
WITH forgotten AS (
    DELETE FROM owners AS o
    WHERE o.queue = $1::job_type AND o.owner = ANY ($3::bigint[])
      AND NOT EXISTS (SELECT FROM deliveries AS d WHERE d.queue = o.queue AND d.owner = o.owner)
      AND ($4::bool OR pg_try_advisory_xact_lock_shared(o.owner))
)
SELECT o.owner, o.renewed, l.alive, l.busy
FROM owners AS o
CROSS JOIN LATERAL (
    SELECT coalesce(bool_or(l.mode = 'ExclusiveLock'), false) AS alive,
           coalesce(bool_or(l.mode = 'ShareLock'), false) AS busy
    FROM pg_locks AS l
    JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.classid::bigint << 32 | l.objid::bigint = o.owner) AS l
WHERE o.queue = $1::job_type AND o.owner <> $2::bigint AND o.owner <> ALL ($3::bigint[])
ORDER BY o.owner
LIMIT 16
