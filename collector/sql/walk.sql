-- Lists the rows in their order, each with the reason why it is passed over now,
-- or null.
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
