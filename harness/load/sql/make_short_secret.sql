UPDATE tokens SET secret = substring(secret FOR 31)
FROM accounts WHERE accounts.id = tokens.account AND accounts.login = ANY ($1::text[])
