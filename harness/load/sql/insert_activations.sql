INSERT INTO tokens (action, account)
SELECT 'activation', id FROM accounts WHERE login = ANY ($1::text[]) ORDER BY id
