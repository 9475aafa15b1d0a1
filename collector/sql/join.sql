-- Joins the collectors that share a queue.
--
-- $1 queue | $2 our name | $3 our number | $4 the epoch that was seen | $5 the mode
WITH known AS (
    INSERT INTO owners (queue, owner)
    SELECT job_type, $3::bigint
    FROM jobs
    WHERE job_type::text = $1 AND epoch = $4::bigint AND mode = $5
    ON CONFLICT (queue, owner) DO UPDATE SET renewed = owners.renewed + 1
    RETURNING owner
)
SELECT $4::bigint, 0::bigint, 0::bigint FROM known WHERE $2 <> ''
