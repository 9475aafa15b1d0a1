-- Tokens that the cursor has not passed, before migration 000004.
SELECT a.login, t.code
FROM jobs j
JOIN tokens t ON t.id > j.last_seq
JOIN accounts a ON a.id = t.account
WHERE j.job_type = 'mailroom'
