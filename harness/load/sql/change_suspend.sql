UPDATE accounts SET status = 'suspended' WHERE login = $1
