-- The number of dead letters of each token.
SELECT a.login, count(*)::int
FROM dead_letters d JOIN accounts a ON a.id = d.account
GROUP BY a.login, d.token
