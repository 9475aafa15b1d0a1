-- Gives back what we took and have not begun to write: it is nobody's again.
--
-- $1 queue | $2 our number
WITH back AS (
    UPDATE deliveries
    SET owner = 0
    WHERE queue::text = $1 AND owner = $2::bigint
    RETURNING queue, pg_advisory_unlock_shared($2::bigint)
)
INSERT INTO owners (queue, owner)
SELECT DISTINCT queue, 0 FROM back
ON CONFLICT DO NOTHING
