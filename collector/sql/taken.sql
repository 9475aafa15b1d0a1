-- The tail of a take, behind take_lane.sql or take_lanes.sql: writes the tokens down in deliveries
-- as ours, a row for each batch.
--
-- $1 queue | $4 our number | $5 tokens of a batch
, delivery AS (
    INSERT INTO deliveries (queue, owner, tokens)
    -- Each batch is a slice of one array, because grouping by batch would sort the tokens.
    SELECT $1::job_type, $4::bigint, ids[batch * $5::int + 1 : (batch + 1) * $5::int]
    FROM (SELECT array_agg(id) AS ids
          FROM found
          WHERE place <= (SELECT taken FROM turn)) AS whole,
         generate_series(0, (cardinality(ids) - 1) / $5::int) AS batch
    ORDER BY batch
), expired AS (
    SELECT count(*) AS n
    FROM (SELECT passed
          FROM walk
          LIMIT (SELECT coalesce(max(examined), 0) FROM last WHERE examined > place)) AS until
    WHERE passed = 'expired'
)
SELECT t.taken, coalesce(l.every, false) AS every,
       e.n AS expired, coalesce(l.examined - l.place, 0) - e.n AS consumed,
       -- The shared lock is taken once, and held while anything is ours.
       t.taken > 0 AND NOT EXISTS (
           SELECT
           FROM pg_locks AS l
           WHERE l.locktype = 'advisory' AND l.objsubid = 1
             AND l.pid = pg_backend_pid() AND l.mode = 'ShareLock'
             AND l.classid::bigint << 32 | l.objid::bigint = $4)
       AND pg_try_advisory_lock_shared($4::bigint)
FROM turn AS t
CROSS JOIN expired AS e
LEFT JOIN last AS l ON true
