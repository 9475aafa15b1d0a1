-- Frees the claims of those in $1 who are still gone; returns who is gone and
-- has claims: whose number no session has locked.
WITH gone AS MATERIALIZED (
    SELECT DISTINCT t.claimed_by AS number
    FROM tokens AS t
    WHERE t.processed_at IS NULL AND t.claimed_by IS NOT NULL AND NOT EXISTS (
        SELECT
        FROM pg_locks AS l
        JOIN pg_database AS d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objsubid = 1
          AND l.classid::bigint << 32 | l.objid::bigint = t.claimed_by)
), freed AS (
    UPDATE tokens
    SET claimed_by = NULL
    WHERE processed_at IS NULL AND claimed_by = ANY ($1::bigint[])
      AND claimed_by IN (SELECT number FROM gone)
)
SELECT coalesce(array_agg(number ORDER BY number), '{}') FROM gone
