-- The tail of a take, behind cursor.sql: moves the cursor past tokens and writes
-- them down in deliveries as ours, a row for each batch. Nothing is read of an
-- account while the cursor is locked: the statement `stock` (queue.c) reads and
-- judges the tokens afterwards. Consumed and expired ones are passed over here.
--
-- $2 tokens to take at most | $4 our number | $5 tokens of a batch
-- $6 after the take, we have a multiple of this number of tokens
-- $7 tokens that we have before it
, walk AS MATERIALIZED (
    SELECT part, xid, id, passed,
           row_number() OVER so_far AS examined,
           count(*) FILTER (WHERE passed IS NULL) OVER so_far AS place
    FROM (SELECT part, xid, id,
                 CASE
                     WHEN consumed_at IS NOT NULL THEN 'consumed'
                     WHEN expires_at <= (SELECT floor(extract(epoch FROM now()))::bigint) THEN 'expired'
                 END AS passed
          FROM behind
          OFFSET 0) AS t
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
), found AS MATERIALIZED (
    SELECT *
    FROM walk
    WHERE passed IS NULL
    LIMIT $2::int
), turn AS MATERIALIZED (
    SELECT count(*) AS found, greatest(count(*) - ($7::int + count(*)) % $6::int, 0) AS taken
    FROM found
), last AS MATERIALIZED (
    -- Two separate branches, so that a full take need not look beyond its end.
    (SELECT *, false AS every
     FROM found
     WHERE place = (SELECT taken FROM turn WHERE taken < found OR found = $2::int))
    UNION ALL
    (SELECT *, examined < $3::int
     FROM walk
     WHERE (SELECT taken = found AND found < $2::int FROM turn)
     ORDER BY examined DESC
     LIMIT 1)
), moved AS (
    UPDATE cursors AS c
    SET n = c.n + 1,
        seen = CASE WHEN l.every THEN h.now WHEN l.part = 2 THEN h.tick ELSE h.seen END,
        tick = CASE WHEN l.every OR l.part = 2 THEN h.now ELSE h.tick END,
        xid = l.xid, id = l.id
    FROM cursor AS h, last AS l
    -- Not a join, because the planner might walk all earlier versions of the
    -- row for it.
    WHERE c.queue = $1::job_type AND c.lane = 1 AND c.n = (SELECT n FROM cursor)
), delivery AS (
    INSERT INTO deliveries (queue, owner, tokens)
    -- Slices of one array, because to group by batch would sort the tokens.
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
