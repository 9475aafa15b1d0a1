UPDATE accounts SET status = 'suspended' WHERE login = ANY ($1::text[])
