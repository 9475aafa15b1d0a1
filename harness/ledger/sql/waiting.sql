-- Tokens that still wait: those that the cursor has not passed, and those that were taken and not
-- confirmed. While jobs.mode is null the cursor is the position in jobs, else the snapshots in
-- cursors.
SELECT a.login, t.code
FROM jobs AS j
JOIN cursors AS c ON c.queue = j.job_type
JOIN tokens AS t ON CASE
    WHEN j.mode IS NULL THEN (t.xid, t.id) > (j.last_xid, j.last_seq)
    ELSE t.action = ANY (c.actions) AND NOT pg_visible_in_snapshot(t.xid, c.seen)
        AND NOT (pg_visible_in_snapshot(t.xid, c.tick) AND (t.xid, t.id) <= (c.xid, c.id))
    END
JOIN accounts AS a ON a.id = t.account
WHERE j.job_type = 'mailroom'
UNION ALL
SELECT a.login, t.code
FROM deliveries AS d
CROSS JOIN unnest(d.tokens) AS taken (id)
JOIN tokens AS t ON t.id = taken.id
JOIN accounts AS a ON a.id = t.account
