-- The tokens of the accounts with these logins.
SELECT a.login, t.code
FROM tokens t JOIN accounts a ON a.id = t.account
WHERE a.login = ANY ($1::text[])
