-- Rows in their order, each with the reason why it is passed over, if it is: its
-- turn is now. A window frame that ends at the current row needs no row behind
-- it, so this is as lazy as what is in front of it.
, walk AS MATERIALIZED (
    SELECT t.part, t.to_xid, t.xid, t.id, t.account, t.action, t.secret, t.code, a.email, a.login,
           why.passed,
           count(*) OVER so_far AS examined,
           count(*) FILTER (WHERE why.passed IS NULL) OVER so_far AS place,
           count(*) FILTER (WHERE why.passed = 'expired') OVER so_far AS expired,
           count(*) FILTER (WHERE why.passed = 'consumed') OVER so_far AS consumed
    FROM base AS t
    LEFT JOIN accounts AS a ON a.id = t.account
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN t.consumed_at IS NOT NULL THEN 'consumed'
            WHEN t.expires_at <= (SELECT floor(extract(epoch FROM now()))::bigint) THEN 'expired'
            WHEN t.action = 'activation' AND a.status = 'provisioned' THEN NULL
            WHEN t.action = 'password_recovery' AND a.status = 'active' THEN NULL
            ELSE 'status'
        END AS passed
        OFFSET 0) AS why
    WINDOW so_far AS (ROWS UNBOUNDED PRECEDING)
)
