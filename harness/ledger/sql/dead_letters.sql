-- The number of dead letters of each token.
SELECT a.login, min(t.code), count(*)::int
FROM dead_letters d
JOIN accounts a ON a.id = d.account
LEFT JOIN tokens t ON t.id = d.token
GROUP BY a.login, d.token
