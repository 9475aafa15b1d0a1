-- Inserts recoveries of accounts that have several. The code tells them apart.
INSERT INTO tokens (action, account, code)
SELECT 'password_recovery', accounts.id, planned.code
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS planned (login, code, place)
JOIN accounts USING (login)
ORDER BY planned.place
