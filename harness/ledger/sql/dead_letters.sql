-- How many dead letters each token has.
SELECT a.login, count(*)::int
FROM dead_letters d JOIN accounts a ON a.id = d.account
GROUP BY a.login, d.token
