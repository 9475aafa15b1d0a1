-- Gives the claims of those owners in $1 that are still gone to nobody, with a row for each token.
-- Returns the owners that have claims and are gone: no session holds the lock of their number.
WITH gone AS MATERIALIZED (
    SELECT DISTINCT d.owner AS number
    FROM deliveries AS d
    WHERE d.owner <> 0 AND NOT EXISTS (
        SELECT
        FROM pg_locks AS l
        JOIN pg_database AS db ON db.oid = l.database
        WHERE db.datname = current_database() AND l.locktype = 'advisory' AND l.objsubid = 1
          AND l.classid::bigint << 32 | l.objid::bigint = d.owner)
), freed AS (
    DELETE FROM deliveries
    WHERE owner = ANY ($1::bigint[]) AND owner IN (SELECT number FROM gone)
    RETURNING queue, tokens
), again AS (
    INSERT INTO deliveries (queue, owner, tokens)
    SELECT queue, 0, ARRAY[id] FROM freed, unnest(tokens) AS id
)
SELECT coalesce(array_agg(number ORDER BY number), '{}') FROM gone
