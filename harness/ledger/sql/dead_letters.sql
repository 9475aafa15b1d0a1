SELECT DISTINCT a.login
FROM dead_letters d JOIN accounts a ON a.id = d.account
