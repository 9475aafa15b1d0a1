-- Moves the cursor, if it is the version that the batch was read from, and in the
-- same commit records the rows that the wire cannot carry.
--
-- $1 queue | $2 n | $3 the new tick, or null when the old one goes on
-- $4 whether all of it was taken | $5, $6 position
-- $7, $8 dead letters: token, reason
WITH moved AS (
    UPDATE cursors
    SET n = n + 1,
        seen = CASE WHEN $4::bool THEN $3::pg_snapshot WHEN $3 IS NULL THEN seen ELSE tick END,
        tick = coalesce($3, tick),
        xid = $5::xid8, id = $6::bigint
    WHERE queue = $1::job_type AND lane = 1 AND n = $2::bigint
    RETURNING 1
), dead AS (
    INSERT INTO dead_letters (token, account, action, reason)
    SELECT t.id, t.account, t.action, d.reason
    FROM moved, unnest($7::bigint[], $8::text[]) AS d (token, reason)
    JOIN tokens AS t ON t.id = d.token
)
SELECT count(*) FROM moved
