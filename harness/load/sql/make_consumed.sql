UPDATE tokens SET consumed_at = tokens.created_at
FROM accounts WHERE accounts.id = tokens.account AND accounts.login = ANY ($1::text[])
