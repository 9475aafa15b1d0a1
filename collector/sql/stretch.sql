-- The stretches of the index in which tokens wait. cursor.sql comes before, or cursors.sql.
--
-- Two parts wait: the rest of the tick, and what came after it. In the first lane these are the
-- parts 1 and 2, in the second lane 3 and 4. Between two snapshots a and b two kinds of
-- transactions have ended: those that ran in a and do not run in b, and those from xmax(a) up to
-- below xmax(b) that do not run in b. They are a few stretches of the index on (action, xid, id).
-- Nothing else is looked at, however much a running transaction has inserted.
--
-- A stretch begins behind (from_xid, from_id): with the least possible id, the
-- tokens of from_xid belong to it, and with the largest they do not. It ends
-- before to_xid. That is a comparison of xid alone: (xid, id) < (to_xid, ...)
-- would walk all entries of to_xid.
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
