-- Looks at what waits and is nobody's, and claims nothing: read.sql says how it
-- comes to cost no more than what it shows. The last column of the last row
-- tells whether others have claims.
--
-- $1 our number | $2 tokens wanted | $3 rows to examine at most
WITH walk AS MATERIALIZED (
    SELECT t.id, t.account, t.action, t.secret, t.code, a.email, a.login, why.passed,
           count(*) OVER so_far AS examined,
           count(*) FILTER (WHERE why.passed = 'expired') OVER so_far AS expired,
           count(*) FILTER (WHERE why.passed = 'consumed') OVER so_far AS consumed
    FROM (SELECT *
          FROM tokens
          WHERE processed_at IS NULL AND claimed_by IS NULL
          ORDER BY claimed_by, id
          LIMIT $3::int) AS t
    LEFT JOIN accounts AS a ON a.id = t.account
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN t.consumed_at IS NOT NULL THEN 'consumed'
            WHEN t.expires_at <= extract(epoch FROM now()) THEN 'expired'
            WHEN t.action = 'activation' AND a.status = 'provisioned' THEN NULL
            WHEN t.action = 'password_recovery' AND a.status = 'active' THEN NULL
            ELSE 'status'
        END AS passed
        OFFSET 0) AS why
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
)
(SELECT 1 AS kind, '0'::xid8 AS xid, id, account,
        CASE action WHEN 'activation' THEN 1 ELSE 2 END AS action,
        email, login, secret, code, examined, expired, consumed, false AS others
 FROM walk
 WHERE passed IS NULL
 LIMIT $2::int)
UNION ALL
(SELECT 0, '0'::xid8, w.id, NULL, NULL, NULL, NULL, NULL, NULL,
        coalesce(w.examined, 0), coalesce(w.expired, 0), coalesce(w.consumed, 0),
        EXISTS (SELECT FROM tokens
                WHERE processed_at IS NULL AND claimed_by IS NOT NULL AND claimed_by <> $1::bigint)
 FROM (SELECT) AS always
 LEFT JOIN (SELECT * FROM walk ORDER BY examined DESC LIMIT 1) AS w ON true)
LIMIT $2::int
