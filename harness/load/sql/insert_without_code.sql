INSERT INTO tokens (action, account, code)
SELECT 'password_recovery', id, NULL FROM accounts WHERE login = ANY ($1::text[]) ORDER BY id
