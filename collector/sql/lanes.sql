-- The tokens that wait, lane after lane. cursors.sql and stretch.sql come before, and ranked.sql or
-- aged.sql.
--
-- $3 rows to examine at most
--
-- It is as lazy as tokens.sql. A queue with several lanes has one action in each. In a queue with
-- one lane the tokens come in no order that matters: lock.sql only asks whether there are any.
, behind AS (
    SELECT s.part, s.to_xid, t.*
    FROM (SELECT w.*, a.action
          FROM stretch AS w
          JOIN ranked AS r ON r.lane = (w.part + 1) / 2
          CROSS JOIN LATERAL unnest(r.actions) AS a (action)
          ORDER BY r.rank, w.part, w.from_xid) AS s
    CROSS JOIN LATERAL (
        SELECT xid, id, action, account, secret, code, consumed_at, expires_at
        FROM tokens
        WHERE action = s.action AND (xid, id) > (s.from_xid, s.from_id) AND xid < s.to_xid
        ORDER BY xid, id) AS t
    LIMIT $3::int
)
