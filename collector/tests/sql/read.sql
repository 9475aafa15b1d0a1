-- The tokens that wait in a queue with one lane, read by one statement: what a loop without the
-- queue's functions would send. mailroom_walk, of the migrations, says what the stretches are.
--
-- $1 queue | $2 tokens wanted | $3 rows to examine at most
WITH cursor AS MATERIALIZED (
    SELECT c.*, pg_current_snapshot() AS now
    FROM cursors AS c
    WHERE c.queue = $1::job_type AND c.lane = 1
    ORDER BY c.n DESC
    LIMIT 1
), head AS (
    SELECT n, now::text AS now FROM cursor
)
, stretch AS MATERIALIZED (
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
, base AS (SELECT * FROM behind)
, walk AS MATERIALIZED (
    SELECT t.*,
           row_number() OVER so_far AS examined,
           count(*) FILTER (WHERE passed = 'expired') OVER so_far AS expired,
           count(*) FILTER (WHERE passed = 'consumed') OVER so_far AS consumed
    FROM (SELECT b.part, b.to_xid, b.xid, b.id, b.action, b.secret, b.code, a.email, a.login,
                 CASE
                     WHEN b.consumed_at IS NOT NULL THEN 'consumed'
                     WHEN b.expires_at <= (SELECT floor(extract(epoch FROM now()))::bigint) THEN 'expired'
                     WHEN b.action = 'activation' AND a.status = 'provisioned' THEN NULL
                     WHEN b.action = 'password_recovery' AND a.status = 'active' THEN NULL
                     ELSE 'status'
                 END AS passed
          FROM base AS b
          LEFT JOIN accounts AS a ON a.id = b.account
          OFFSET 0) AS t
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
)
(SELECT 3 AS what, 0 AS part, '0'::xid8 AS to_xid, '0'::xid8 AS xid, n AS id, now::varchar AS email,
        NULL AS login, NULL::bytea AS secret, NULL AS code,
        0::bigint AS examined, NULL::bigint AS expired, NULL::bigint AS consumed
 FROM head)
UNION ALL
(SELECT CASE action WHEN 'activation' THEN 1 ELSE 2 END, part, to_xid, xid, id,
        email, login, secret, code, examined, nullif(expired, 0), nullif(consumed, 0)
 FROM walk
 WHERE passed IS NULL
 LIMIT $2::int)
UNION ALL
(SELECT 0, coalesce(w.part, 0), '0', coalesce(w.xid, '0'), coalesce(w.id, 0), NULL, NULL,
        NULL, NULL, coalesce(w.examined, 0), w.expired, w.consumed
 FROM (SELECT) AS always
 LEFT JOIN (SELECT * FROM walk ORDER BY examined DESC LIMIT 1) AS w ON true)
LIMIT $2::int + 1
