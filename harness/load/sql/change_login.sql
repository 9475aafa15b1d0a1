UPDATE accounts SET login = $2 WHERE login = $1
