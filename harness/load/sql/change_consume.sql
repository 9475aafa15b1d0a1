UPDATE tokens SET consumed_at = floor(extract(epoch FROM now()))
FROM accounts WHERE accounts.id = tokens.account AND accounts.login = $1
