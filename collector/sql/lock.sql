-- Tries to become the one collector of this queue, without waiting: a session
-- that waits for a lock holds a snapshot and keeps VACUUM from its work. Who
-- finds that another holds the queue only looks whether the lock is free, and
-- leaves it, unless $3 says that the holder has had its grace.
--
-- $1 queue | $2 our name | $3 take it from the holder $4
WITH job AS (
    SELECT holder, hashtextextended('mailroom-collector ' || $1, 0) AS key,
           holder IS NULL OR holder = $2 OR ($3::bool AND holder = $4) AS may,
           cluster IS DISTINCT FROM mailroom_cluster() AS moved, mode,
           epoch = 0 AND last_seq = 0 AND last_xid = '0' AS unused
    FROM jobs
    WHERE job_type::text = $1
)
SELECT may AND pg_try_advisory_lock(key) AS taken,
       NOT may AND NOT EXISTS (
           SELECT FROM pg_locks AS l
           JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
           WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
             AND l.classid::bigint = key >> 32 & 4294967295
             AND l.objid::bigint = key & 4294967295) AS free,
       coalesce(holder, '') AS holder, moved, mode, unused
FROM job
