INSERT INTO accounts (email, login) VALUES ($1, $2)
