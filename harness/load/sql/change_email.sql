UPDATE accounts SET email = $2 WHERE login = $1
