-- The rows behind the cursor whose transactions, and all older ones, are over.
-- $1 queue | $2 rows at most. No row at all: there is no such queue. One row
-- with a null id: nothing waits.
--
-- behind: committed tokens cannot be read yet, because an older transaction is open.
-- trouble is null for a token that can go out; otherwise why it is not eligible
-- (consumed, expired, suspended, status) or why the wire cannot carry it.
SELECT horizon.behind, cursor.last_xid, cursor.last_seq, t.xid, t.id,
       CASE t.action WHEN 'activation' THEN 1 ELSE 2 END AS action,
       a.email, a.login, encode(t.secret, 'hex') AS secret, t.code,
       CASE
           WHEN t.consumed_at IS NOT NULL THEN 'consumed'
           WHEN t.expires_at <= extract(epoch FROM now()) THEN 'expired'
           WHEN a.status = 'suspended' THEN 'suspended'
           WHEN (t.action, a.status) NOT IN
               (('activation', 'provisioned'), ('password_recovery', 'active')) THEN 'status'
           WHEN a.email ~ '[,"\u0001-\u001f\u007f-\u009f]' THEN 'email'
           WHEN a.login ~ '[,"\u0001-\u001f\u007f-\u009f]' THEN 'login'
           WHEN length(t.secret) <> 32 THEN 'secret'
           WHEN t.code !~ '^[0-9]{5}$'
               OR (t.code IS NULL AND t.action = 'password_recovery') THEN 'code'
       END AS trouble
FROM jobs AS cursor
CROSS JOIN (SELECT EXISTS (SELECT FROM tokens
    WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())) AS behind) AS horizon
LEFT JOIN LATERAL (SELECT * FROM tokens
    WHERE (xid, id) > (cursor.last_xid, cursor.last_seq)
      AND xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY xid, id LIMIT $2::int) AS t ON true
LEFT JOIN accounts AS a ON a.id = t.account
WHERE cursor.job_type = $1::job_type
ORDER BY t.xid, t.id
