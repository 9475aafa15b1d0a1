-- The head of a statement that reads our oldest row of deliveries; walk.sql
-- follows. A token's part is its place in the delivery. Tokens that were
-- deleted since are missing, and need not be delivered.
--
-- $1 queue | $3 rows to examine at most | $4 our number
-- $5 an n before which nothing is ours: deleted rows that an old snapshot keeps are
-- not walked again
--
-- A collector shares the lock of its number once for each delivery in hand. It
-- already holds the locks of the deliveries that it took in this session and
-- has not begun.
WITH head AS MATERIALIZED (
    SELECT n, tokens,
           CASE
               WHEN EXISTS (SELECT
                            FROM pg_locks AS l
                            WHERE l.locktype = 'advisory' AND l.objsubid = 1
                              AND l.pid = pg_backend_pid() AND l.mode = 'ShareLock'
                              AND l.classid::bigint << 32 | l.objid::bigint = $4)
                   OR pg_try_advisory_lock_shared($4::bigint)
               THEN ''
           END AS now
    FROM (SELECT n, tokens
          FROM deliveries
          WHERE queue = $1::job_type AND owner = $4 AND n >= $5
          ORDER BY n
          LIMIT 1) AS ours
), base AS (
    SELECT taken.at::int AS part, '0'::xid8 AS to_xid, t.*
    FROM head, unnest(head.tokens) WITH ORDINALITY AS taken (id, at)
    JOIN tokens AS t ON t.id = taken.id
    ORDER BY taken.at
    LIMIT $3::int
)
