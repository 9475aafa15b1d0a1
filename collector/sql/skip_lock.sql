-- The locks of a collector that shares the queue: one that all of them hold
-- and that keeps the other mode out, and one of its own by which others see
-- that its claims are those of the living.
--
-- $1 queue | $2 our number
SELECT CASE WHEN mode = 'skip-locked' THEN
               pg_try_advisory_lock_shared(hashtextextended('mailroom-collector ' || $1, 0))
               AND pg_try_advisory_lock($2::bigint)
       END AS taken,
       false AS free, '' AS holder,
       cluster IS DISTINCT FROM mailroom_cluster() AS moved, mode,
       epoch = 0 AND last_seq = 0 AND last_xid = '0' AS unused
FROM jobs
WHERE job_type::text = $1
