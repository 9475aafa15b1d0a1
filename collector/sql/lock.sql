-- Tries to become the one collector of this queue, without waiting: a session
-- that waits for a lock holds a snapshot and keeps VACUUM from its work. Who
-- only stands by ($2 is false) looks whether the lock is free, and leaves it.
-- Who we are is answered as well, for the session after this one.
WITH key AS (SELECT hashtextextended('mailroom-collector ' || $1, 0) AS key)
SELECT CASE
           WHEN $2::bool THEN pg_try_advisory_lock(key)
           ELSE NOT EXISTS (
               SELECT FROM pg_locks AS l
               JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
               WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
                 AND l.classid::bigint = key >> 32 & 4294967295
                 AND l.objid::bigint = key & 4294967295)
       END AS free,
       pid, extract(epoch FROM backend_start) AS since
FROM key, pg_stat_activity
WHERE pid = pg_backend_pid()
