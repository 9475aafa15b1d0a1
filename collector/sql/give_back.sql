-- Gives back what we took and have not begun to write, for any collector to take.
--
-- $1 queue | $2 our number | $3 an n before which nothing is ours
WITH back AS (
    UPDATE deliveries
    SET owner = 0
    WHERE queue = $1::job_type AND owner = $2::bigint AND n >= $3::bigint
    RETURNING queue
), nobody AS (
    INSERT INTO owners (queue, owner)
    SELECT DISTINCT queue, 0 FROM back
    ON CONFLICT DO NOTHING
)
SELECT pg_advisory_unlock_shared($2::bigint)
WHERE EXISTS (SELECT FROM back)
