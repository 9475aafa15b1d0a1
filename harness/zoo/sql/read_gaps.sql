-- Defect gives-up: reads id after id, and waits for one that is missing. It gives a gap up when the
-- token after the gap is a second old: it hopes that the gap's transaction is rolled back.
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
CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM tokens WHERE id > cursor.last_seq) AS behind) AS horizon
LEFT JOIN LATERAL (SELECT * FROM (
        SELECT *, bool_or(id > before + 1 AND created_at > extract(epoch FROM now()) - 1)
            OVER (ORDER BY id) AS waits
        FROM (SELECT *, lag(id, 1, cursor.last_seq) OVER (ORDER BY id) AS before
            FROM tokens WHERE id > cursor.last_seq ORDER BY id LIMIT $2::int) AS next) AS judged
    WHERE NOT waits) AS t ON true
LEFT JOIN accounts AS a ON a.id = t.account
WHERE cursor.job_type = $1::job_type
ORDER BY t.id
