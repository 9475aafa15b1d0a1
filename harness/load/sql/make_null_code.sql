UPDATE tokens SET code = NULL
FROM accounts WHERE accounts.id = tokens.account AND accounts.login = ANY ($1::text[])
