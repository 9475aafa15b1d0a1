UPDATE tokens SET expires_at = tokens.created_at - 60
FROM accounts WHERE accounts.id = tokens.account AND accounts.login = ANY ($1::text[])
