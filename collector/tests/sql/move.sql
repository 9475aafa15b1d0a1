-- Moves the cursor of a queue with one lane, unless that has another version than when it was read.
--
-- $1 queue | $2 n | $3 the new tick, or null when the old one goes on
-- $4 whether all of it was taken | $5, $6 position
WITH moved AS (
    UPDATE cursors
    SET n = n + 1,
        seen = CASE WHEN $4::bool THEN $3::pg_snapshot WHEN $3 IS NULL THEN seen ELSE tick END,
        tick = coalesce($3, tick),
        xid = $5::xid8, id = $6::bigint, written = pg_current_xact_id()
    WHERE queue = $1::job_type AND lane = 1 AND n = $2::bigint
    RETURNING 1
)
SELECT count(*) FROM moved
