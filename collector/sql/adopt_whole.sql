-- Takes over the oldest delivery of another owner, for a collector that works alone and must keep the
-- order. The delivery keeps its n, and is not divided: the next line goes on within it. When another
-- collector has claimed the queue, nothing is taken over; a claim that comes meanwhile waits.
--
-- $1 queue | $2 the other's number | $3 our number | $4 our epoch
-- $5 an n before which nothing is left, so that deleted rows that an old snapshot keeps are not
--    walked again and again
UPDATE deliveries
SET owner = $3::bigint
WHERE queue = $1::job_type AND owner = $2::bigint
  AND n = (SELECT n
           FROM deliveries
           WHERE queue = $1::job_type AND owner = $2::bigint AND n >= $5::bigint
           ORDER BY n
           LIMIT 1)
  AND (SELECT epoch FROM jobs WHERE job_type = $1::job_type FOR SHARE) = $4::bigint
