UPDATE tokens SET action = 'password_recovery'
FROM accounts WHERE accounts.id = tokens.account AND accounts.login = ANY ($1::text[])
