INSERT INTO tokens (action, account)
SELECT 'password_recovery', id FROM accounts WHERE login = ANY ($1::text[]) ORDER BY id
