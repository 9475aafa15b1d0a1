-- The head of a statement that reads on from the cursors of all lanes; stretch.sql follows, then
-- ranked.sql or aged.sql, and lanes.sql.
--
-- $1 queue
--
-- Only the newest version of each cursor is found: an old snapshot may keep very many. The head
-- shows the epoch. Every take holds the lock of the first lane's cursor, and a claim changes that
-- cursor and the epoch in one statement, so a take that sees its own epoch has the queue.
WITH cursor AS MATERIALIZED (
    SELECT c.*, pg_current_snapshot() AS now
    FROM generate_series(1, cardinality(enum_range(NULL::token_action))) AS l (lane),
         LATERAL (
             SELECT x.ctid AS at, x.*
             FROM cursors AS x
             WHERE x.queue = $1::job_type AND x.lane = l.lane
             ORDER BY x.n DESC
             LIMIT 1
         ) AS c
), head AS (
    SELECT (SELECT epoch FROM jobs WHERE job_type = $1::job_type) AS n, now::text AS now
    FROM cursor
    WHERE lane = 1
)
