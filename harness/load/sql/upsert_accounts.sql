INSERT INTO accounts (email, login)
SELECT email, login FROM unnest($1::text[], $2::text[]) AS planned (email, login)
ON CONFLICT DO NOTHING
