-- Lists the other owners of deliveries, each with the counter of its lease, whether
-- a session holds its lock, and whether it has something in hand. Deletes those
-- that are gone and have nothing left.
--
-- A collector that takes or gives back in an owner's name first renews the owner's row. So an owner
-- whose counter is not the one that we saw is kept. If it were deleted, nobody would find what it
-- has from then on. This works even if the renewal is committed while this statement waits for the
-- row.
--
-- Owner 0 is nobody and is never alive, even if an application holds lock 0.
--
-- When there are many, those that are gone come first, and then those whose numbers follow ours, as
-- in a ring. So each living owner is watched by the same few others all the time.
--
-- $1 queue | $2 our number | $3 those that are gone and have nothing left
-- $4 their counters, as we saw them
WITH forgotten AS (
    DELETE FROM owners AS o
    USING unnest($3::bigint[], $4::bigint[]) AS f (owner, renewed)
    WHERE o.queue = $1::job_type AND o.owner = f.owner AND o.renewed = f.renewed
      AND NOT EXISTS (SELECT FROM deliveries AS d WHERE d.queue = o.queue AND d.owner = o.owner)
)
SELECT o.owner, o.renewed, l.alive, l.busy
FROM owners AS o
CROSS JOIN LATERAL (
    SELECT coalesce(bool_or(l.mode = 'ExclusiveLock'), false) AS alive,
           coalesce(bool_or(l.mode = 'ShareLock'), false) AS busy
    FROM pg_locks AS l
    JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
    WHERE o.owner <> 0 AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.classid::bigint << 32 | l.objid::bigint = o.owner) AS l
WHERE o.queue = $1::job_type AND o.owner <> $2::bigint AND o.owner <> ALL ($3::bigint[])
ORDER BY l.alive, o.owner < $2::bigint, o.owner
LIMIT 16
