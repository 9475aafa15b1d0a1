-- The outcome of each token in leased mode: 1 sent, 2 dead, 3 expired, 0 none yet.
SELECT a.login, t.code,
       CASE s.state WHEN 'sent' THEN 1 WHEN 'dead' THEN 2 WHEN 'expired' THEN 3 ELSE 0 END
FROM mailroom_status s
JOIN tokens t ON t.id = s.token
JOIN accounts a ON a.id = t.account
