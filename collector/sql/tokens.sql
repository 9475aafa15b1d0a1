-- The tokens of a queue with one lane that wait, in their order. cursor.sql and stretch.sql come
-- before.
--
-- $3 rows to examine at most
--
-- Everything is lazy: a stretch is begun when the one before it is used up, and
-- the rows of the two actions are merged one by one. Both have their columns in
-- the same order and an ORDER BY of their own, so the merge is cheap and needs
-- no sort.
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
