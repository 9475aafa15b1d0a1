-- Defect xmin-only: waits for the horizon, but orders by id alone. A younger transaction may have
-- the lower id.
SELECT horizon.behind, cursor.last_xid, cursor.last_seq, t.xid, t.id,
       CASE t.action WHEN 'activation' THEN 1 ELSE 2 END AS action,
       a.email, a.login, encode(t.secret, 'hex') AS secret, t.code,
       CASE
           WHEN t.consumed_at IS NOT NULL THEN 'consumed'
           WHEN t.expires_at <= extract(epoch FROM now()) THEN 'expired'
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
    WHERE id > cursor.last_seq
      AND xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY id LIMIT $2::int) AS t ON true
LEFT JOIN accounts AS a ON a.id = t.account
WHERE cursor.job_type = $1::job_type
ORDER BY t.id
