-- The head of a statement that reads on within one stretch of the tick, wherever
-- the cursor stands; walk.sql follows. stretch.sql says what a stretch is.
--
-- $1 queue | $3 rows to examine at most | $4, $5 position to begin behind
-- $6 where the stretch ends
WITH head AS (
    SELECT 0::bigint AS n, '' AS now
), base AS (
    SELECT 1 AS part, $6::xid8 AS to_xid, t.*
    FROM ((SELECT xid, id, action, account, secret, code, consumed_at, expires_at
           FROM tokens
           WHERE action = 'activation' AND (xid, id) > ($4::xid8, $5::bigint) AND xid < $6::xid8
           ORDER BY xid, id)
          UNION ALL
          (SELECT xid, id, action, account, secret, code, consumed_at, expires_at
           FROM tokens
           WHERE action = 'password_recovery' AND (xid, id) > ($4::xid8, $5::bigint) AND xid < $6::xid8
           ORDER BY xid, id)
          ORDER BY xid, id
          LIMIT $3::int) AS t
    WHERE $1::job_type IS NOT NULL
)
