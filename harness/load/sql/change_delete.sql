DELETE FROM accounts WHERE login = $1
