-- Counts what is not finished, for MAILROOM_METRICS. Nothing is changed or
-- locked.
--
-- $1 queue | $2 tokens, or deliveries, to count at most
--
-- The comment on mailroom_behind (migration 21) says what a stretch is. Here the stretches of all
-- lanes are read, in no order. Before the first collector has come to the queue, no row is returned.
WITH lane AS MATERIALIZED (
    SELECT c.*, pg_current_snapshot() AS now
    FROM jobs AS j,
         generate_series(1, cardinality(enum_range(NULL::token_action))) AS l (lane),
         LATERAL (
             SELECT *
             FROM cursors AS x
             WHERE x.queue = $1::job_type AND x.lane = l.lane
             ORDER BY x.n DESC
             LIMIT 1
         ) AS c
    WHERE j.job_type = $1::job_type AND j.mode IS NOT NULL
), stretch AS MATERIALIZED (
    SELECT s.*
    FROM lane AS c,
         LATERAL (VALUES (c.seen, c.tick, c.xid, c.id), (c.tick, c.now, '0', 0)) AS p (a, b, xid, id),
         LATERAL (
             SELECT c.actions, greatest(x, p.xid) AS from_xid,
                    CASE WHEN x > p.xid THEN -9223372036854775808 ELSE p.id END AS from_id,
                    (x::text::bigint + 1)::text::xid8 AS to_xid
             FROM pg_snapshot_xip(p.a) AS x
             WHERE pg_visible_in_snapshot(x, p.b)
             UNION ALL
             SELECT c.actions, greatest(gap.from_xid, p.xid),
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
         ) AS s (actions, from_xid, from_id, to_xid)
    WHERE s.from_xid < s.to_xid
), scheduled AS (
    SELECT count(*) AS tokens, min(w.created_at) AS oldest
    FROM (SELECT t.created_at
          FROM stretch AS s
          CROSS JOIN LATERAL (
              SELECT created_at
              FROM tokens
              WHERE action = 'activation' AND 'activation' = ANY (s.actions)
                AND (xid, id) > (s.from_xid, s.from_id) AND xid < s.to_xid
              UNION ALL
              SELECT created_at
              FROM tokens
              WHERE action = 'password_recovery' AND 'password_recovery' = ANY (s.actions)
                AND (xid, id) > (s.from_xid, s.from_id) AND xid < s.to_xid) AS t
          LIMIT $2::int) AS w
), taken AS (
    SELECT coalesce(sum(cardinality(tokens)) FILTER (WHERE owner <> 0), 0) AS leased,
           coalesce(sum(cardinality(tokens)) FILTER (WHERE owner = 0), 0) AS retry,
           min(leased_at) FILTER (WHERE owner <> 0) AS oldest
    FROM (SELECT owner, tokens, leased_at FROM deliveries AS d WHERE d.queue = $1::job_type
          LIMIT $2::int) AS d
)
SELECT s.tokens AS scheduled, t.leased, t.retry,
       coalesce(greatest(0, extract(epoch FROM clock_timestamp()) - s.oldest), 0) AS oldest_token_s,
       coalesce(greatest(0, extract(epoch FROM clock_timestamp() - t.oldest)), 0) AS oldest_lease_s
FROM scheduled AS s, taken AS t
WHERE EXISTS (SELECT FROM lane)
