-- Frees claims of collectors that have been gone for longer than the grace, and
-- tells whose claims are those of somebody who is gone.
--
-- $1 who was seen gone that long ago
WITH live AS (
    SELECT l.classid::bigint << 32 | l.objid::bigint AS claimant
    FROM pg_locks AS l
    JOIN pg_database AS d ON d.oid = l.database AND d.datname = current_database()
    WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
), freed AS (
    UPDATE tokens
    SET claimed_by = NULL
    WHERE processed_at IS NULL AND claimed_by = ANY ($1::bigint[])
      AND claimed_by NOT IN (SELECT claimant FROM live)
    RETURNING 1
)
SELECT (SELECT count(*) FROM freed) AS freed,
       ARRAY(SELECT DISTINCT claimed_by
             FROM tokens
             WHERE processed_at IS NULL AND claimed_by IS NOT NULL
               AND claimed_by NOT IN (SELECT claimant FROM live)
             ORDER BY claimed_by
             LIMIT 16) AS gone
