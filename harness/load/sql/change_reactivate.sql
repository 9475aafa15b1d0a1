UPDATE accounts SET status = 'active' WHERE login = $1
