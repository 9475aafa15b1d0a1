-- The wrong design: one statement that locks the cursor, reads and takes.
--
-- $1 queue | $2 tokens to take at most | $3 rows to examine at most | $4 our number
-- $5 tokens of a line | $6 a multiple of this number is taken | $7 tokens that we have before it
WITH cursor AS MATERIALIZED (
    SELECT c.*, pg_current_snapshot() AS now
    FROM cursors AS c
    WHERE c.queue = $1::job_type AND c.lane = 1
    ORDER BY c.n DESC
    LIMIT 1 FOR UPDATE
), stretch AS MATERIALIZED (
    SELECT s.*
    FROM cursor AS c,
         LATERAL (VALUES (2 * c.lane - 1, c.seen, c.tick, c.xid, c.id),
                         (2 * c.lane, c.tick, c.now, '0', 0)) AS p (part, a, b, xid, id),
         LATERAL (
             SELECT p.part, greatest(x, p.xid) AS from_xid,
                    CASE WHEN x > p.xid THEN -9223372036854775808 ELSE p.id END AS from_id,
                    (x::text::bigint + 1)::text::xid8 AS to_xid
             FROM pg_snapshot_xip(p.a) AS x
             WHERE pg_visible_in_snapshot(x, p.b)
             UNION ALL
             SELECT p.part, greatest(gap.from_xid, p.xid),
                    CASE WHEN gap.from_xid > p.xid THEN gap.from_id
                         WHEN gap.from_xid = p.xid THEN greatest(gap.from_id, p.id)
                         ELSE p.id END,
                    gap.to_xid
             FROM (SELECT lag(x, 1, pg_snapshot_xmax(p.a)) OVER runs AS from_xid,
                          lag(9223372036854775807, 1, -9223372036854775808) OVER runs AS from_id,
                          x AS to_xid
                   FROM (SELECT x FROM pg_snapshot_xip(p.b) AS x WHERE x >= pg_snapshot_xmax(p.a)
                         UNION ALL
                         SELECT pg_snapshot_xmax(p.b)) AS ends (x)
                   WINDOW runs AS (ORDER BY x)) AS gap
         ) AS s (part, from_xid, from_id, to_xid)
    WHERE s.from_xid < s.to_xid
    ORDER BY s.part, s.from_xid
)
, behind AS (
    SELECT s.part, s.to_xid, t.*
    FROM stretch AS s
    CROSS JOIN LATERAL (
        (SELECT xid, id, action, account, secret, code, consumed_at, expires_at
         FROM tokens
         WHERE action = 'activation'
           AND (xid, id) > (s.from_xid, s.from_id) AND xid < s.to_xid
         ORDER BY xid, id)
        UNION ALL
        (SELECT xid, id, action, account, secret, code, consumed_at, expires_at
         FROM tokens
         WHERE action = 'password_recovery'
           AND (xid, id) > (s.from_xid, s.from_id) AND xid < s.to_xid
         ORDER BY xid, id)
        ORDER BY xid, id) AS t
    LIMIT $3::int
)
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
    (SELECT *, false AS every
     FROM found
     WHERE place = (SELECT taken FROM turn WHERE taken < found OR found = $2::int))
    UNION ALL
    (SELECT *, examined < $3::int
     FROM walk
     WHERE (SELECT taken = found AND found < $2::int FROM turn)
     ORDER BY examined DESC
     LIMIT 1)
)
, moved AS (
    UPDATE cursors AS c
    SET n = c.n + 1,
        seen = CASE WHEN l.every THEN h.now WHEN l.part = 2 THEN h.tick ELSE h.seen END,
        tick = CASE WHEN l.every OR l.part = 2 THEN h.now ELSE h.tick END,
        xid = l.xid, id = l.id, written = pg_current_xact_id()
    FROM cursor AS h, last AS l
    WHERE c.queue = $1::job_type AND c.lane = 1
)
, delivery AS (
    INSERT INTO deliveries (queue, owner, tokens)
    SELECT $1::job_type, $4::bigint, ids[batch * $5::int + 1 : (batch + 1) * $5::int]
    FROM (SELECT array_agg(id) AS ids
          FROM found
          WHERE place <= (SELECT taken FROM turn)) AS whole,
         generate_series(0, (cardinality(ids) - 1) / $5::int) AS batch
    ORDER BY batch
)
SELECT t.taken FROM turn AS t
