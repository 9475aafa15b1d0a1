-- The head of a statement that reads on from the cursor of a queue with one lane; stretch.sql and
-- tokens.sql follow, and then take.sql, or a file that defines base, and walk.sql.
--
-- $1 queue
WITH cursor AS MATERIALIZED (
    SELECT c.*, pg_current_snapshot() AS now
    FROM cursors AS c
    WHERE c.queue = $1::job_type AND c.lane = 1
    ORDER BY c.n DESC
    LIMIT 1
), head AS (
    SELECT n, now::text AS now FROM cursor
)
