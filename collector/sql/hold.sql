-- If deliveries of ours exist, which an earlier session left or which were just adopted, takes the
-- shared lock that shows others that we have something in hand. take.sql does the same for the
-- tokens that it takes.
--
-- $1 queue | $2 our number
SELECT pg_try_advisory_lock_shared($2::bigint)
WHERE EXISTS (SELECT FROM deliveries WHERE queue = $1::job_type AND owner = $2::bigint)
  AND NOT EXISTS (SELECT
                  FROM pg_locks AS l
                  WHERE l.locktype = 'advisory' AND l.objsubid = 1
                    AND l.pid = pg_backend_pid() AND l.mode = 'ShareLock'
                    AND l.classid::bigint << 32 | l.objid::bigint = $2)
