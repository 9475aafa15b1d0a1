-- Every token as the collector had to write it. `action` has the numbers of the line: 1
-- activation, 2 password_recovery.
SELECT a.login,
       CASE t.action WHEN 'activation' THEN 1 ELSE 2 END,
       a.email,
       t.secret,
       coalesce(t.code, ''),
       least(t.expires_at - $1::bigint, 2147483647)::int
FROM tokens t JOIN accounts a ON a.id = t.account
