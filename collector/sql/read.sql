-- Reads the next batch and leaves the cursor where it is.
--
-- $1 queue | $2 tokens wanted | $3 rows to examine at most
-- $4, $5 position to begin behind; null for the cursor
--
-- The walk follows the index on (xid, id) from the cursor on, and stops below
-- the horizon: a transaction older than the snapshot's xmin has ended, so
-- nothing can appear there any more. A row's turn is now: `passed` says why it
-- does not get one.
--
-- Everything is lazy. A CTE computes the rows that are asked for, a window
-- frame that ends at the current row needs no row behind it, and an Append
-- under a satisfied LIMIT does not begin its second branch. So a full batch
-- costs its own rows. A batch that is not full ends with one more row, kind 0:
-- the last position examined, what was passed over, and whether committed rows
-- wait behind the horizon.
WITH walk AS MATERIALIZED (
    SELECT t.xid, t.id, t.account, t.action, t.secret, t.code, a.email, a.login, why.passed,
           count(*) OVER so_far AS examined,
           count(*) FILTER (WHERE why.passed = 'expired') OVER so_far AS expired,
           count(*) FILTER (WHERE why.passed = 'consumed') OVER so_far AS consumed
    FROM (SELECT *
          FROM tokens
          WHERE (xid, id) >
                    (coalesce($4::xid8, (SELECT last_xid FROM jobs WHERE job_type = $1::job_type)),
                     coalesce($5::bigint, (SELECT last_seq FROM jobs WHERE job_type = $1::job_type)))
            AND xid < pg_snapshot_xmin(pg_current_snapshot())
          ORDER BY xid, id
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
(SELECT 1 AS kind, xid, id, account, CASE action WHEN 'activation' THEN 1 ELSE 2 END AS action,
        email, login, secret, code, examined, expired, consumed, false AS horizon
 FROM walk
 WHERE passed IS NULL
 LIMIT $2::int)
UNION ALL
(SELECT 0, w.xid, w.id, NULL, NULL, NULL, NULL, NULL, NULL,
        coalesce(w.examined, 0), coalesce(w.expired, 0), coalesce(w.consumed, 0),
        EXISTS (SELECT FROM tokens WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()))
 FROM (SELECT) AS always
 LEFT JOIN (SELECT * FROM walk ORDER BY examined DESC LIMIT 1) AS w ON true)
LIMIT $2::int
