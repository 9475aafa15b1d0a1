-- Tokens that the cursor has not passed, before migration 000016.
SELECT a.login, t.code
FROM jobs j
JOIN tokens t ON (t.xid, t.id) > (j.last_xid, j.last_seq)
JOIN accounts a ON a.id = t.account
WHERE j.job_type = 'mailroom'
